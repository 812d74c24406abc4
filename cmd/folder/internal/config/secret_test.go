package config

import (
	"bytes"
	"encoding/json"
	"fmt"
	"log/slog"
	"reflect"
	"strings"
	"testing"
)

const hunter = "hunter2-the-password"

// TestSecretsAreNeverPrinted fills every field of type Secret and prints the
// configuration in each way that there is.
func TestSecretsAreNeverPrinted(t *testing.T) {
	l, err := Read(Input{File: write(t, small)})
	if err != nil {
		t.Fatal(err)
	}
	n := fill(reflect.ValueOf(&l.Config).Elem())
	secret := 0
	for _, f := range Fields() {
		if f.Secret {
			secret++
		}
		for _, word := range []string{"password", "secret"} {
			if strings.Contains(f.Path, word) && !f.Secret && !strings.HasSuffix(f.Path, "_file") {
				t.Errorf("%s is neither of type Secret nor a file", f.Path)
			}
		}
	}
	if n == 0 || n != secret {
		t.Fatalf("%d fields are secret, %d were filled", secret, n)
	}
	js, err := json.Marshal(l.Config)
	if err != nil {
		t.Fatal(err)
	}
	var logs bytes.Buffer
	for _, h := range []slog.Handler{slog.NewTextHandler(&logs, nil), slog.NewJSONHandler(&logs, nil)} {
		slog.New(h).Info("config", "all", l.Config, "kafka", &l.Kafka, "one", l.Kafka.SASLPassword)
	}
	for form, text := range map[string]string{
		"config print": l.YAML(), "json": string(js), "a log": logs.String(),
		"%v": fmt.Sprintf("%v", l.Config), "%+v": fmt.Sprintf("%+v", *l), "%#v": fmt.Sprintf("%#v", l.Config),
		"%s": fmt.Sprintf("is %s!", l.Kafka.SASLPassword), "%q": fmt.Sprintf("%q", l.Kafka.SASLPassword), "%x": fmt.Sprintf("%x", l.Kafka.SASLPassword),
		"docs": Docs(),
	} {
		if strings.Contains(text, hunter) || strings.Contains(text, fmt.Sprintf("%x", hunter)) {
			t.Errorf("%s shows a secret:\n%s", form, text)
		}
	}
	if !strings.Contains(l.YAML(), "sasl_password: <redacted>") {
		t.Error("config print does not say that a password is set")
	}
}

func fill(v reflect.Value) (n int) {
	switch {
	case v.Type() == reflect.TypeFor[Secret]():
		v.SetString(hunter)
		return 1
	case v.Kind() == reflect.Struct:
		for i := range v.NumField() {
			n += fill(v.Field(i))
		}
	case v.Kind() == reflect.Slice && v.Type().Elem().Kind() == reflect.Struct:
		for i := range v.Len() {
			n += fill(v.Index(i))
		}
	}
	return n
}

// TestSecretsAreNotInMessages: what is wrong near a secret is told without it.
func TestSecretsAreNotInMessages(t *testing.T) {
	for name, in := range map[string]Input{
		"a slip in the key":   {File: write(t, small+"kafka:\n  sasl_pasword: "+hunter+"\n")},
		"no YAML behind it":   {File: write(t, small+"kafka:\n  sasl_password: "+hunter+"\n  group: [\n")},
		"no YAML on its line": {File: write(t, small+"kafka:\n  sasl_password: '"+hunter+"\n")},
		"twice":               {File: write(t, small+"kafka:\n  sasl_password: "+hunter+"\n  sasl_password: "+hunter+"\n")},
		"a list":              {File: write(t, small+"kafka:\n  sasl_password: ["+hunter+"]\n")},
		"no mechanism":        {File: write(t, small+"kafka: {sasl_password: "+hunter+"}\n")},
		"by variable":         {File: write(t, small), Env: []string{"FOLDER_KAFKA_SASL_PASSWORD=" + hunter}},
		"by flag":             {File: write(t, small), Flags: map[string]string{"kafka.sasl_password": hunter}},
		"in a URL": {File: write(t, small), Flags: map[string]string{
			"kafka.sasl_mechanism": "OAUTHBEARER", "kafka.oauth_token_url": "https://me:" + hunter + "@id.example/"}},
		"a URL that is none": {File: write(t, small), Flags: map[string]string{
			"kafka.sasl_mechanism": "OAUTHBEARER", "kafka.oauth_token_url": "https://me:" + hunter + "@%zz"}},
	} {
		_, err := Load(in)
		if err == nil {
			t.Errorf("%s: accepted", name)
		} else if strings.Contains(err.Error(), hunter) {
			t.Errorf("%s: the message shows the secret:\n%v", name, err)
		}
	}
}

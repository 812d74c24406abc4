package telemetry

import (
	"os"
	"strings"
)

// destination says where a signal ("TRACES", "METRICS", "LOGS") goes: to the
// exporter of that name, "" for nowhere. The convention's own default, otlp to
// localhost, would have every worker without a collector dial for nothing, so an
// endpoint or an exporter must be named.
func destination(signal string) string {
	if disabled() {
		return ""
	}
	name := strings.ToLower(strings.TrimSpace(os.Getenv("OTEL_" + signal + "_EXPORTER")))
	switch {
	case name == "none", name == "prometheus": // the admin listener serves /metrics in any case
		return ""
	case name != "":
		return name
	case signal == "LOGS": // they are on standard error, where an agent usually gets them
		return ""
	case os.Getenv("OTEL_EXPORTER_OTLP_ENDPOINT") != "", os.Getenv("OTEL_EXPORTER_OTLP_"+signal+"_ENDPOINT") != "":
		return "otlp"
	}
	return ""
}

// disabled is the convention's switch for everything.
func disabled() bool {
	return strings.EqualFold(strings.TrimSpace(os.Getenv("OTEL_SDK_DISABLED")), "true")
}

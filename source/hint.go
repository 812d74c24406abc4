package source

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"net"

	"github.com/twmb/franz-go/pkg/kerr"
)

// hints say what to do about a refusal. They name the kind of grant; which one it
// is, the error or the check of topics says.
var hints = []struct {
	err  error
	hint string
}{
	{kerr.TopicAuthorizationFailed, "grant READ on topics that are folded, READ and WRITE on the changelog and changes topics (make them with `folder topics create` as a user who may, or grant CREATE); `folder topics check` names what is missing"},
	{kerr.GroupAuthorizationFailed, "grant READ on the group (kafka.group)"},
	{kerr.TransactionalIDAuthorizationFailed, "grant WRITE on the transactional id, which is the group, a dash and kafka.instance"},
	{kerr.ClusterAuthorizationFailed, "grant CREATE on the changelog and changes topics, or make them with `folder topics create` as another user"},
	{kerr.SaslAuthenticationFailed, "the brokers refuse the login: look at kafka.sasl_user and the password or token"},
	{kerr.UnsupportedSaslMechanism, "the brokers do not offer this kafka.sasl_mechanism on this listener"},
	{kerr.IllegalSaslState, "the listener asks for no login, or for another kind: look at kafka.sasl_mechanism and the port"},
}

// Hint says what an operator can do about an error that comes of a missing grant,
// a refused login, TLS or nobody who listens; "" when it is none of these.
func Hint(err error) string {
	for _, h := range hints {
		if errors.Is(err, h.err) {
			return h.hint
		}
	}
	var authority x509.UnknownAuthorityError
	var host x509.HostnameError
	var record tls.RecordHeaderError
	var alert *net.OpError
	switch {
	case errors.As(err, &authority):
		return "the broker's certificate is of an authority that is not trusted: look at kafka.tls_ca_file"
	case errors.As(err, &host):
		return "the broker's certificate is for another name: use that name in kafka.brokers, or kafka.tls_server_name"
	case errors.As(err, &record):
		return "this port does not speak TLS: look at kafka.tls and the port"
	case errors.As(err, &alert) && alert.Op == "remote error": // a TLS alert
		return "the broker refuses the TLS connection: look at kafka.tls_cert_file and its authority"
	case errors.As(err, &alert) && alert.Op == "dial" && alert.Addr != nil:
		return "is a broker at " + alert.Addr.String() + "? Look at kafka.brokers, and at what the brokers advertise"
	}
	return ""
}

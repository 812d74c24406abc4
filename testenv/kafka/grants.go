package kafka

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"

	"github.com/twmb/franz-go/pkg/kadm"

	"sessionfold/testenv/proc"
)

// Grant is a row of the table of rights in docs/security.md.
type Grant struct{ Op, Resource, Pattern, Name string }

func (g Grant) String() string { return g.Op + " on " + g.Resource + " " + g.Name }

// ACL gives the grant to a user.
func (g Grant) ACL(user string) (*kadm.ACLBuilder, error) {
	b := kadm.NewACLs().Allow("User:" + user).AllowHosts("*")
	switch g.Op {
	case "READ":
		b.Operations(kadm.OpRead)
	case "WRITE":
		b.Operations(kadm.OpWrite)
	default:
		return nil, fmt.Errorf("kafka: operation %s of docs/security.md is unknown here", g.Op)
	}
	switch g.Pattern {
	case "prefixed":
		b.ResourcePatternType(kadm.ACLPatternPrefixed)
	case "literal":
		b.ResourcePatternType(kadm.ACLPatternLiteral)
	default:
		return nil, fmt.Errorf("kafka: pattern %s of docs/security.md is unknown here", g.Pattern)
	}
	switch g.Resource {
	case "topic":
		b.Topics(g.Name)
	case "group":
		b.Groups(g.Name)
	case "transactional id":
		b.TransactionalIDs(g.Name)
	default:
		return nil, fmt.Errorf("kafka: resource %s of docs/security.md is unknown here", g.Resource)
	}
	return b, nil
}

var grantRow = regexp.MustCompile("(?m)^\\| ([A-Z]+) \\| ([a-z ]+) \\| ([a-z]+) \\| `([^`]+)` \\|")

// Documented reads the grants that docs/security.md calls sufficient, for
// another stream and group than its own, which are agents and sessionfold.
func Documented(stream, group string) (gs []Grant, err error) {
	root, err := proc.Root()
	if err != nil {
		return nil, err
	}
	text, err := os.ReadFile(filepath.Join(root, "docs", "security.md"))
	if err != nil {
		return nil, fmt.Errorf("kafka: %w", err)
	}
	names := strings.NewReplacer("agents.", stream+".", "sessionfold", group)
	for _, m := range grantRow.FindAllStringSubmatch(string(text), -1) {
		gs = append(gs, Grant{m[1], m[2], m[3], names.Replace(m[4])})
	}
	if len(gs) < 5 {
		return nil, fmt.Errorf("kafka: docs/security.md lists only %v", gs)
	}
	return gs, nil
}

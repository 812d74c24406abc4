package proc_test

import (
	"fmt"
	"net"
	"testing"

	"sessionfold/testenv/proc"
)

func TestPortsAreFreeAndGivenOnce(t *testing.T) {
	seen := map[int]bool{}
	for range 3 {
		ports, err := proc.Ports(4)
		if err != nil {
			t.Fatal(err)
		}
		for _, p := range ports {
			if seen[p] || p >= 32_768 {
				t.Fatalf("port %d: given before, or of the range of outgoing connections", p)
			}
			seen[p] = true
			l, err := net.Listen("tcp", fmt.Sprintf("127.0.0.1:%d", p))
			if err != nil {
				t.Fatal(err)
			}
			defer l.Close()
		}
	}
}

package proc

import (
	"fmt"
	"net"
	"os"
	"sync/atomic"
)

// Ports below the range from which systems take the ports of outgoing
// connections: one that is free now is not given away before its program listens.
const (
	firstPort = 12_000
	portCount = 20_000
)

var portsTaken atomic.Uint32

// Ports gives n ports of 127.0.0.1 that nobody listens on, for programs that must
// be told theirs beforehand. No call of this process gives one again.
func Ports(n int) ([]int, error) {
	var ports []int
	for range portCount {
		if len(ports) == n {
			return ports, nil
		}
		p := firstPort + int((uint32(os.Getpid())*97+portsTaken.Add(1))%portCount)
		l, err := net.Listen("tcp", fmt.Sprintf("127.0.0.1:%d", p))
		if err != nil {
			continue
		}
		if err := l.Close(); err != nil {
			return nil, err
		}
		ports = append(ports, p)
	}
	return nil, fmt.Errorf("proc: no %d free ports from %d on", n, firstPort)
}

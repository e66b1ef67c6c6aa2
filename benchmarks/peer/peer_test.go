package peer

import (
	"os"
	"testing"

	"example.com/mcp/framing/benchmarks/child"
)

func TestMain(m *testing.M) {
	child.Main()
	os.Exit(m.Run())
}

// TestPeers sees that each server answers as the benchmark wants it, and 64
// callers at once.
func TestPeers(t *testing.T) {
	for _, p := range Peers {
		t.Run(p.Name, func(t *testing.T) {
			s, err := Start(p)
			if err != nil {
				t.Fatal(err)
			}
			if !p.Bare {
				if err := PingTogether(s, 2); err != nil {
					t.Error(err)
				}
			}
			if err := s.Close(); err != nil {
				t.Errorf("Close: %v", err)
			}
		})
	}
}

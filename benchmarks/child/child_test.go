package child

import (
	"os"
	"testing"

	"example.com/mcp/framing"
	"example.com/mcp/framing/benchmarks/contend"
)

func TestMain(m *testing.M) {
	Main()
	os.Exit(m.Run())
}

func TestDrain(t *testing.T) {
	for _, r := range contend.Readers {
		good := 0
		n, err := Drain(r, 20_000, func(m *framing.Message) {
			if m.Kind > framing.Invalid {
				good++
			}
		})
		if err != nil || n < 20_000 || good != n {
			t.Errorf("%s: %d messages, %d good, error %v; want at least 20000, all good", r.Name, n, good, err)
		}
	}
}

package jsonscan

import (
	"strings"
	"testing"
)

// However long a name, id or method is, little of it is kept on the way.
func TestSalvage_KeepsLittle(t *testing.T) {
	long := strings.Repeat("7", 1<<20)
	for _, line := range []string{`{"id":"` + long, `{"id":` + long, `{"method":"` + long, `{"` + long, `{"a":` + long, `{"id":[` + long} {
		for _, size := range []int{1, 1000, len(line)} {
			var s Salvage
			for rest := line; rest != ""; rest = rest[min(size, len(rest)):] {
				s.Write([]byte(rest[:min(size, len(rest))]))
			}
			if cap(s.text) > 2*maxSalvage {
				t.Errorf("of %.12s…, %d bytes a Write, Salvage keeps %d bytes, want at most %d", line, size, cap(s.text), 2*maxSalvage)
			}
		}
	}
}

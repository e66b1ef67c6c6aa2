package contend

import (
	"fmt"
	"io"
	"slices"
	"strings"
	"testing"

	"example.com/mcp/framing"
	"example.com/mcp/framing/benchmarks/traffic"
)

// TestReadersAgree is what makes the tables mean something: each contender
// gives the messages that encoding/json gives, byte for byte, from the very
// traffic that is timed.
func TestReadersAgree(t *testing.T) {
	for _, c := range traffic.Classes {
		for _, o := range []traffic.Order{traffic.IDFirst, traffic.IDLast} {
			data := traffic.Generate(c, o, 1<<20)
			for _, r := range slices.Concat(Floors, Readers, SDKs) {
				t.Run(fmt.Sprintf("%s/%s/%s", c, o, r.Name), func(t *testing.T) {
					reference := Readers[1]
					if r.Role == Floor {
						reference = Readers[0]
					}
					if err := Check(r, reference, data); err != nil {
						t.Error(err)
					}
				})
			}
		}
	}
}

// TestReadersRefuse sees that each contender looks at every byte of params and
// result: none of these lines may pass, or it would be timed for less than the
// job. (sonic passes bad escapes in members that the envelope does not have;
// the traffic has none such.)
func TestReadersRefuse(t *testing.T) {
	for _, value := range []string{
		`{"a":nul}`, "{\"a\":\"\x01\"}", "{\"a\":\"\xff\"}", `{"a":"\x"}`, `{"a":"\u12g4"}`, `{"a":01}`, `{"a":1.}`,
		`{"a":[1,]}`, `{"a" 1}`, `{"a":1,}`, `[1 2]`, `{"a":+1}`, `{"a":NaN}`, `{'a':1}`, `{"a":"` + strings.Repeat("x", 100) + "\x1f\"}",
	} {
		for _, format := range []string{`{"jsonrpc":"2.0","id":1,"result":%s}`, `{"jsonrpc":"2.0","id":1,"method":"m","params":%s}`} {
			line := fmt.Sprintf(format, value)
			for _, r := range Readers {
				ms, err := collect(r, []byte(line+"\n"))
				if err != nil || len(ms) != 1 || ms[0].Kind != framing.Malformed {
					t.Errorf("%s takes %q: %v, %v", r.Name, line, ms, err)
				}
			}
		}
	}
}

func TestWritersAgree(t *testing.T) {
	for _, j := range Jobs() {
		for _, w := range Writers {
			t.Run(j.Name+"/"+w.Name, func(t *testing.T) {
				if err := CheckWriter(w, &j); err != nil {
					t.Error(err)
				}
			})
		}
	}
}

// TestWritersRefuse sees that raw parts are checked and compacted by all who
// are timed with them.
func TestWritersRefuse(t *testing.T) {
	for _, raw := range []string{`{"a":}`, `{"a":1}{}`, `{"a":nul}`, "{\"a\":\"\x01\"}", `{"a":"\x"}`} {
		j := composed("bad", framing.Message{Result: []byte(raw)})
		for _, w := range Writers {
			if err := w.New(io.Discard)(&j); err == nil {
				t.Errorf("%s takes raw %q", w.Name, raw)
			}
		}
	}
	j := composed("white space", framing.Message{Result: []byte("{ \"a\" :\t[ 1, 2 ] }\r")})
	for _, w := range Writers {
		if err := CheckWriter(w, &j); err != nil {
			t.Error(err)
		}
	}
}

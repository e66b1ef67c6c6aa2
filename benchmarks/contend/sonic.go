//go:build amd64 || arm64

// sonic does not compile for other machines.

package contend

import (
	"encoding/json"
	"io"

	"github.com/bytedance/sonic"
)

func init() {
	Readers = append(Readers,
		Reader{Name: "sonic", Role: Library, Read: readLibrary(sonicStrict.Unmarshal)},
		Reader{Name: "sonic, NoCopyRawMessage", Role: Library, Read: readLibrary(sonicNoCopy())})
	Writers = append(Writers, Writer{"sonic", Library, func(out io.Writer) func(*Job) error {
		e := sonicCompact.NewEncoder(out)
		return func(j *Job) error { return e.Encode(j.Value) }
	}})
}

// sonicStrict refuses what is not JSON: values skipped into a raw message are
// validated, control characters in strings refused. CopyString because the
// line's buffer is used again.
var sonicStrict = sonic.Config{CopyString: true, ValidateString: true, CaseSensitive: true}.Froze()

// sonicRefer refers to the line instead, of which it gets a copy to keep.
var sonicRefer = sonic.Config{ValidateString: true, CaseSensitive: true}.Froze()

// sonicCompact checks and compacts raw values when it writes.
var sonicCompact = sonic.Config{CompactMarshaler: true}.Froze()

// sonicEnvelope is envelope with raw values that refer to the line, the fastest
// that sonic offers.
type sonicEnvelope struct {
	JSONRPC string                 `json:"jsonrpc"`
	ID      sonic.NoCopyRawMessage `json:"id"`
	Method  string                 `json:"method"`
	Params  sonic.NoCopyRawMessage `json:"params"`
	Result  sonic.NoCopyRawMessage `json:"result"`
	Error   sonic.NoCopyRawMessage `json:"error"`
}

func sonicNoCopy() func([]byte, any) error {
	var s sonicEnvelope
	return func(line []byte, to any) error {
		s = sonicEnvelope{}
		err := sonicRefer.UnmarshalFromString(string(line), &s)
		*to.(*envelope) = envelope{s.JSONRPC, json.RawMessage(s.ID), s.Method,
			json.RawMessage(s.Params), json.RawMessage(s.Result), json.RawMessage(s.Error)}
		return err
	}
}

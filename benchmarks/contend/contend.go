// Package contend holds programs that do one job in different ways, so that
// they can be timed side by side: this module, the standard library, JSON
// libraries, JSON-RPC and MCP implementations, and floors, which do less than
// the job and show what it costs to touch the bytes at all.
package contend

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"

	"example.com/mcp/framing"
)

// ReadSize is the most that one Read of a benchmark's source returns, as a pipe
// does on Linux.
const ReadSize = 64 << 10

// Role says what a contender is compared as.
type Role string

const (
	Ours     Role = "ours"
	Standard Role = "std"     // the standard library
	Library  Role = "library" // a JSON library
	SDK      Role = "sdk"     // an implementation of JSON-RPC or MCP
	Floor    Role = "floor"   // does less than the job
)

// Reader reads a stream of messages.
//
// The job: cut the stream into lines; of each line see that it is one JSON text
// in valid UTF-8, and give its kind, id, method and raw params, result or
// error, all of which the caller may keep. A floor gives the Line alone.
type Reader struct {
	Name string
	Role Role
	Read func(r io.Reader, each func(*framing.Message)) error // each may not keep the Message itself

	// Blind says that results and errors are read, but not given.
	Blind bool
	// check, if there is one, stands in for the comparison in Check.
	check func(data []byte) error
}

// GivesAll reports whether Read gives every message to its caller.
func (r Reader) GivesAll() bool { return r.check == nil }

// Chunks returns a reader of data whose Read returns at most size bytes.
func Chunks(data []byte, size int) io.Reader { return &chunks{data: data, size: size} }

type chunks struct {
	data []byte
	size int
}

func (c *chunks) Read(p []byte) (int, error) {
	if len(c.data) == 0 {
		return 0, io.EOF
	}
	n := copy(p, c.data[:min(len(c.data), c.size)])
	c.data = c.data[n:]
	return n, nil
}

// Check reports whether r gives the messages of data that reference gives, in
// order. Of a floor it compares the lines, of all others everything but the
// line; of a bad line the kind alone.
func Check(r, reference Reader, data []byte) error {
	if r.check != nil {
		return r.check(data)
	}
	want, err := collect(reference, data)
	if err != nil {
		return fmt.Errorf("%s: %w", reference.Name, err)
	}
	got, err := collect(r, data)
	if err != nil {
		return fmt.Errorf("%s: %w", r.Name, err)
	}
	if len(got) != len(want) {
		return fmt.Errorf("%s gave %d messages, %s gives %d", r.Name, len(got), reference.Name, len(want))
	}
	for i := range want {
		if err := compare(r, &got[i], &want[i]); err != nil {
			return fmt.Errorf("%s, message %d: %w: %.200s", r.Name, i+1, err, want[i].Line)
		}
	}
	return nil
}

// collect keeps what r gives without copying it, so that a contender whose
// messages do not last fails the check; only a floor's lines need not last.
func collect(r Reader, data []byte) ([]framing.Message, error) {
	var ms []framing.Message
	err := r.Read(Chunks(data, ReadSize), func(m *framing.Message) {
		ms = append(ms, *m)
		if r.Role == Floor {
			ms[len(ms)-1].Line = bytes.Clone(m.Line)
		}
	})
	return ms, err
}

func compare(r Reader, got, want *framing.Message) error {
	if r.Role == Floor {
		if !bytes.Equal(got.Line, want.Line) {
			return errors.New("other line")
		}
		return nil
	}
	switch bad := want.Kind == framing.Malformed || want.Kind == framing.Invalid; {
	case got.Kind != want.Kind:
		return fmt.Errorf("kind %v, want %v", got.Kind, want.Kind)
	case bad:
		return nil
	case got.Method != want.Method:
		return fmt.Errorf("method %q, want %q", got.Method, want.Method)
	}
	members := map[string][2]json.RawMessage{"id": {got.ID, want.ID}, "params": {got.Params, want.Params}}
	if !r.Blind {
		members["result"] = [2]json.RawMessage{got.Result, want.Result}
		members["error"] = [2]json.RawMessage{got.ErrorObject, want.ErrorObject}
	}
	return compareRaw(members)
}

func compareRaw(members map[string][2]json.RawMessage) error {
	for name, pair := range members {
		if !bytes.Equal(pair[0], pair[1]) {
			return fmt.Errorf("%s %.80s, want %.80s", name, pair[0], pair[1])
		}
	}
	return nil
}

// Package framing reads and writes the messages of the MCP stdio transport.
package framing

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
)

// Kind says what a line is in JSON-RPC 2.0.
type Kind uint8

const (
	Malformed    Kind = iota // not one JSON text (answer: -32700)
	Invalid                  // JSON, but not JSON-RPC 2.0 (answer: -32600)
	Request                  // has a method and an id
	Notification             // has a method and no id
	Response                 // has a result or an error
	Batch                    // a non-empty array
)

// String returns the name of k in lower case.
func (k Kind) String() string {
	names := [...]string{"malformed", "invalid", "request", "notification", "response", "batch"}
	if int(k) < len(names) {
		return names[k]
	}
	return fmt.Sprintf("kind(%d)", k)
}

// The classes of bad lines, for errors.Is.
var (
	ErrSyntax         = errors.New("framing: not JSON")
	ErrInvalidUTF8    = errors.New("framing: invalid UTF-8")
	ErrTooLong        = errors.New("framing: line too long")
	ErrInvalidMessage = errors.New("framing: not a JSON-RPC 2.0 message")
)

// LineError says what is wrong with a line, and where.
type LineError struct {
	Offset int
	Reason string
	Err    error
}

func (e *LineError) Error() string {
	return fmt.Sprintf("%v: %s at byte %d", e.Err, e.Reason, e.Offset)
}

func (e *LineError) Unwrap() error { return e.Err }

// Message is one line of the stream.
type Message struct {
	Kind        Kind
	Line        []byte
	ID          json.RawMessage
	Method      string
	Params      json.RawMessage
	Result      json.RawMessage
	ErrorObject json.RawMessage
	Err         error
}

// Value returns the parsed line.
func (m Message) Value() any {
	if m.Kind == Malformed {
		return map[string]any{"parse_error": string(m.Line)}
	}
	d := json.NewDecoder(bytes.NewReader(m.Line))
	d.UseNumber()
	var v any
	d.Decode(&v)
	return v
}

// Batch returns the elements of a Batch, each a Message of its own.
func (m Message) Batch() iter.Seq[Message] {
	return func(yield func(Message) bool) {
		var elems []json.RawMessage
		if m.Kind != Batch || json.Unmarshal(m.Line, &elems) != nil {
			return
		}
		for _, e := range elems {
			if !yield(parse(e)) {
				return
			}
		}
	}
}

// MarshalJSON returns the line, or the object of a composed message's members.
func (m Message) MarshalJSON() ([]byte, error) {
	if m.Line != nil {
		if m.Kind == Malformed {
			return json.Marshal(m.Value())
		}
		return m.Line, nil
	}
	o := map[string]any{"jsonrpc": "2.0"}
	for name, raw := range map[string]json.RawMessage{"id": m.ID, "params": m.Params, "result": m.Result, "error": m.ErrorObject} {
		if raw != nil {
			o[name] = raw
		}
	}
	if m.Method != "" {
		o["method"] = m.Method
	}
	return json.Marshal(o)
}

package framing

import (
	"bytes"
	"encoding/json"
	"io"
	"iter"
)

// DefaultMaxLine is the longest line accepted by default, in bytes.
const DefaultMaxLine = 64 << 20

// LineReader cuts a stream into messages.
type LineReader struct {
	MaxLine int
	buf     []byte
}

// Feed returns the messages that chunk completes.
func (r *LineReader) Feed(chunk []byte) []Message {
	var ms []Message
	r.buf = append(r.buf, chunk...)
	for {
		i := bytes.IndexByte(r.buf, '\n')
		if i < 0 {
			return ms
		}
		line := bytes.Clone(bytes.TrimSuffix(r.buf[:i], []byte("\r")))
		r.buf = append([]byte(nil), r.buf[i+1:]...)
		if len(bytes.Trim(line, " \t\r")) > 0 {
			ms = append(ms, parse(line))
		}
	}
}

// Flush ends the stream.
func (r *LineReader) Flush() (Message, bool) {
	line := r.buf
	r.buf = nil
	if len(bytes.Trim(line, " \t\r")) == 0 {
		return Message{}, false
	}
	return parse(line), true
}

// Buffered returns the number of bytes held back.
func (r *LineReader) Buffered() int { return len(r.buf) }

func parse(line []byte) Message {
	m := Message{Line: line}
	if !json.Valid(line) {
		m.Err = &LineError{Reason: "not JSON", Err: ErrSyntax}
		return m
	}
	t := bytes.TrimSpace(line)
	if t[0] == '[' && len(bytes.TrimSpace(t[1:])) > 1 {
		m.Kind = Batch
		return m
	}
	var o map[string]json.RawMessage
	json.Unmarshal(line, &o)
	m.ID, m.Params, m.Result, m.ErrorObject = o["id"], o["params"], o["result"], o["error"]
	if string(m.Params) == "null" {
		m.Params = nil
	}
	isMethod := len(o["method"]) > 0 && json.Unmarshal(o["method"], &m.Method) == nil
	switch {
	case string(o["jsonrpc"]) != `"2.0"`:
		m.Kind = Invalid
	case isMethod && o["id"] != nil:
		m.Kind = Request
	case isMethod:
		m.Kind = Notification
	case o["method"] == nil && (m.Result == nil) != (m.ErrorObject == nil):
		m.Kind = Response
	default:
		m.Kind = Invalid
	}
	if m.Kind == Invalid {
		m.Err = &LineError{Reason: "not a message", Err: ErrInvalidMessage}
	}
	return m
}

// Reader reads messages from an io.Reader.
type Reader struct {
	MaxLine int
	r       io.Reader
	lr      LineReader
	ready   []Message
	err     error
}

// NewReader returns a Reader on r.
func NewReader(r io.Reader) *Reader { return &Reader{r: r} }

// ReadMessage returns the next message.
func (r *Reader) ReadMessage() (Message, error) {
	var chunk [64 << 10]byte
	for len(r.ready) == 0 {
		if r.err != nil {
			return Message{}, r.err
		}
		n, err := r.r.Read(chunk[:])
		r.ready = r.lr.Feed(chunk[:n])
		r.err = err
		if err == io.EOF {
			if m, ok := r.lr.Flush(); ok {
				r.ready = append(r.ready, m)
			}
		}
	}
	m := r.ready[0]
	r.ready = r.ready[1:]
	return m, nil
}

// All returns the messages up to the end of the stream.
func (r *Reader) All() iter.Seq2[Message, error] {
	return func(yield func(Message, error) bool) {
		for {
			m, err := r.ReadMessage()
			if err == io.EOF {
				return
			}
			if !yield(m, err) || err != nil {
				return
			}
		}
	}
}

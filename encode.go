package framing

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"sync"

	"example.com/mcp/framing/internal/jsonscan"
)

// Encode returns v as one frame: compact JSON on one line, then "\n".
//
// v is encoded as by [encoding/json], but <, > and & are not escaped, while
// U+2028, U+2029 and U+0085 are, and invalid UTF-8 becomes U+FFFD, in raw JSON
// too. A [Message], a *Message and a [json.RawMessage] are written without
// reflection. What JSON cannot express (NaN, a channel, a cycle, raw JSON that
// is none) is an error. A Go value that is nested a million levels deep exhausts
// the stack, as in encoding/json.
func Encode(v any) ([]byte, error) {
	frame, err := AppendEncode(nil, v)
	if err != nil {
		return nil, err
	}
	return frame, nil
}

// AppendEncode appends v as one frame, as by [Encode], to dst and returns the
// extended slice, or dst as it was and the error. Into a dst with room to spare
// a json.RawMessage is written without allocation, and so is a *Message whose
// Method needs no escapes; a Message is the same but for being boxed in v.
func AppendEncode(dst []byte, v any) ([]byte, error) {
	out, err := appendValue(dst, v)
	if err != nil {
		return dst, err
	}
	return append(out, '\n'), nil
}

func appendValue(dst []byte, v any) ([]byte, error) {
	switch v := v.(type) {
	case *Message:
		if v != nil {
			return appendMessage(dst, v)
		}
	case Message:
		return appendMessage(dst, &v)
	case json.RawMessage:
		if v != nil {
			return appendRaw(dst, "the value", v, 0)
		}
	}
	return appendAny(dst, v)
}

// appendAny appends what encoding/json makes of v.
func appendAny(dst []byte, v any) ([]byte, error) {
	e := encoders.Get().(*encoder)
	e.dst = dst
	err := e.json.Encode(v)
	out := e.dst
	e.dst = nil
	if err != nil {
		return dst, err // and e, which may remember the error, is dropped
	}
	encoders.Put(e)
	out = out[:len(out)-1] // Encode ends with a newline
	text := out[len(dst):]
	if jsonscan.IsTooDeep(text) {
		return dst, errTooDeep
	}
	if !jsonscan.IsClean(text) {
		out = jsonscan.AppendClean(out[:len(dst)], slices.Clone(text))
	}
	return out, nil
}

// errTooDeep is for values whose parts pass encoding/json, which checks each
// piece of raw JSON by itself.
var errTooDeep = fmt.Errorf("framing: the value is nested deeper than %d levels", jsonscan.MaxDepth)

// An encoder is a json.Encoder that appends to a slice.
type encoder struct {
	json *json.Encoder
	dst  []byte
}

var encoders = sync.Pool{New: func() any {
	e := new(encoder)
	e.json = json.NewEncoder(e)
	e.json.SetEscapeHTML(false)
	return e
}}

func (e *encoder) Write(p []byte) (int, error) {
	e.dst = append(e.dst, p...)
	return len(p), nil
}

// appendRaw appends raw JSON, which the error calls by name and which will lie
// in depth objects.
func appendRaw(dst []byte, name string, raw []byte, depth int) ([]byte, error) {
	out, fault := jsonscan.AppendCompact(dst, raw, depth)
	if fault.Code != jsonscan.OK {
		return dst, fmt.Errorf("framing: %s is not JSON: byte %d: %s",
			name, fault.Offset, jsonscan.Explain(raw, fault, jsonscan.Value))
	}
	return out, nil
}

// appendMessage appends the JSON text of m, not a frame.
func appendMessage(dst []byte, m *Message) ([]byte, error) {
	switch {
	case m.Line == nil:
		return appendComposed(dst, m)
	case m.Kind == Malformed:
		return appendAny(dst, map[string]string{"parse_error": string(m.Line)})
	}
	return appendRaw(dst, "Line", m.Line, 0)
}

// appendComposed appends the object of m's members, in the order in which
// JSON-RPC 2.0 lists them. The rules are those of reading.
func appendComposed(dst []byte, m *Message) ([]byte, error) {
	if err := m.checkShape(); err != nil {
		return dst, err
	}
	const rest = `{"jsonrpc":"2.0","id":null,"method":"","params":}` + "\n"
	c := composer{out: slices.Grow(dst, len(rest)+len(m.ID)+len(m.Method)+
		len(m.Params)+len(m.Result)+len(m.ErrorObject))}
	c.out = append(c.out, `{"jsonrpc":"2.0"`...)
	if m.ErrorObject == nil {
		c.add(`,"id":`, "ID", m.ID, isID, "a string or an integer")
	} else if m.ID != nil {
		c.add(`,"id":`, "ID", m.ID, isAnyID, "a string, a number or null")
	} else {
		c.out = append(c.out, `,"id":null`...) // JSON-RPC 2.0 section 5: it is not known
	}
	if m.Method != "" {
		c.out = appendString(append(c.out, `,"method":`...), m.Method)
	}
	c.add(`,"params":`, "Params", m.Params, isStructured, "an object or an array")
	c.add(`,"result":`, "Result", m.Result, nil, "")
	c.add(`,"error":`, "ErrorObject", m.ErrorObject, isErrorObject, `an object with an integer "code" and a string "message"`)
	if c.err != nil {
		return dst, c.err
	}
	return append(c.out, '}'), nil
}

// checkShape reports which member is missing or one too many.
func (m *Message) checkShape() error {
	answer := m.Result != nil || m.ErrorObject != nil
	var fault string
	switch {
	case m.Method == "" && !answer:
		fault = "none of Method, Result and ErrorObject"
	case m.Method != "" && answer:
		fault = "Method together with Result or ErrorObject"
	case m.Result != nil && m.ErrorObject != nil:
		fault = "both Result and ErrorObject"
	case m.Result != nil && m.ID == nil:
		fault = "Result without ID"
	case m.Params != nil && answer:
		fault = "Params without Method"
	default:
		return nil
	}
	return fmt.Errorf("%w: %s", ErrInvalidMessage, fault)
}

// A composer appends the members of an object, up to the first error.
type composer struct {
	out []byte
	err error
}

// add appends head and raw, unless raw is nil. What has been appended must pass
// ok, if there is one; else the error says what name has to be.
func (c *composer) add(head, name string, raw []byte, ok func([]byte) bool, want string) {
	if raw == nil || c.err != nil {
		return
	}
	c.out = append(c.out, head...)
	at := len(c.out)
	c.out, c.err = appendRaw(c.out, name, raw, 1)
	if c.err == nil && ok != nil && !ok(c.out[at:]) {
		c.err = fmt.Errorf("%w: %s is not %s", ErrInvalidMessage, name, want)
	}
}

// isAnyID reports whether raw, a JSON text, can be the id of an error: that of
// an invalid request with a fraction for an id is given back, too.
func isAnyID(raw []byte) bool {
	return len(raw) > 0 && (raw[0] == '"' || isNumber(raw) || string(raw) == "null")
}

// appendString appends s as a JSON string.
func appendString(dst []byte, s string) []byte {
	for i := 0; i < len(s); i++ {
		if c := s[i]; c < 0x20 || c == '"' || c == '\\' || c >= 0x80 {
			dst, _ = appendAny(dst, s) // a string always can be encoded
			return dst
		}
	}
	dst = append(dst, '"')
	dst = append(dst, s...)
	return append(dst, '"')
}

// Writer writes frames to an [io.Writer]. Make one with [NewWriter].
//
// A Writer may be used by several goroutines at the same time: frames never
// interleave. Each frame goes out in one Write. While one goroutine is in
// Write, the frames of the others gather, and go out together, in order, in the
// next one.
type Writer struct {
	dst io.Writer

	mu      sync.Mutex
	err     error    // the first error of dst
	writing bool     // a goroutine is in Write, or on its way
	queue   []*frame // waiting for it, in order
}

// A frame waits to be written by another goroutine, or to be told to write.
type frame struct {
	text []byte
	err  error
	told chan bool // nil unless it waits; true: your turn to write the queue; false: err is your result
}

// maxGather is how many bytes go out in one Write, at most, if there is more
// than one frame. Beyond a pipe's 64 KiB there is nothing to gain.
const maxGather = 256 << 10

// maxKept is the largest buffer that is kept for reuse.
const maxKept = 64 << 10

var frames = sync.Pool{New: func() any { return new(frame) }}

// NewWriter returns a Writer on w.
func NewWriter(w io.Writer) *Writer { return &Writer{dst: w} }

// WriteMessage writes v as one frame, encoded as by [Encode], and returns when
// it has been written.
//
// If v cannot be encoded, nothing is written and the Writer goes on. If the
// underlying writer fails or writes short, which gives [io.ErrShortWrite], there
// may be a torn frame on the stream: every later call returns that first error.
// Its own frame having gone out whole, a call returns nil even if a frame
// behind it in the same Write has not.
func (w *Writer) WriteMessage(v any) error {
	f := frames.Get().(*frame)
	text, err := AppendEncode(f.text[:0], v)
	if err == nil {
		f.text = text
		err = w.send(f)
	}
	if cap(f.text) > maxKept {
		f.text = nil
	}
	// The channel is not for the pool: under testing/synctest one that comes
	// from elsewhere does not count as waiting.
	f.err, f.told = nil, nil
	frames.Put(f)
	return err
}

func (w *Writer) send(f *frame) error {
	w.mu.Lock()
	if w.err != nil {
		defer w.mu.Unlock()
		return w.err
	}
	if w.writing {
		f.told = make(chan bool, 1)
		w.queue = append(w.queue, f)
		w.mu.Unlock()
		if turn := <-f.told; !turn {
			return f.err
		}
		return w.flush(f)
	}
	w.writing = true
	w.mu.Unlock()
	return w.write(f.text, f)
}

// flush writes the queue, which begins with f, or as much of it as goes out
// together.
func (w *Writer) flush(f *frame) error {
	w.mu.Lock()
	n, size := 1, len(f.text)
	for n < len(w.queue) && size+len(w.queue[n].text) <= maxGather {
		size += len(w.queue[n].text)
		n++
	}
	batch := slices.Clone(w.queue[:n])
	w.queue = slices.Delete(w.queue, 0, n)
	w.mu.Unlock()

	text := f.text
	if n > 1 {
		text = make([]byte, 0, size)
		for _, g := range batch {
			text = append(text, g.text...)
		}
	}
	return w.write(text, batch...)
}

// write writes text, which is that of the batch, tells the others in the batch
// their results, passes the turn on and returns the first one's result.
func (w *Writer) write(text []byte, batch ...*frame) error {
	n, err := 0, errPanicked
	defer func() { w.finish(len(text), n, err, batch) }()
	n, err = w.dst.Write(text)
	if n < len(text) && err == nil {
		err = io.ErrShortWrite
	}
	return result(len(batch[0].text), len(text), n, err)
}

var errPanicked = errors.New("framing: the underlying writer panicked")

// result returns the error for a frame that ends at end of size bytes of which
// n were written. An error without loss goes to the last frame.
func result(end, size, n int, err error) error {
	if err != nil && end <= n && end < size {
		return nil
	}
	return err
}

func (w *Writer) finish(size, n int, err error, batch []*frame) {
	w.mu.Lock()
	defer w.mu.Unlock()
	end := len(batch[0].text)
	for _, f := range batch[1:] {
		end += len(f.text)
		f.err = result(end, size, n, err)
		f.told <- false
	}
	if w.err = err; err != nil {
		for _, f := range w.queue {
			f.err = err
			f.told <- false
		}
		w.queue = nil
	}
	if w.writing = len(w.queue) > 0; w.writing {
		w.queue[0].told <- true
	}
}

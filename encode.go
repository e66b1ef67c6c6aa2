package framing

import (
	"bytes"
	"encoding/json"
	"io"
	"sync"
)

// Encode returns v as one frame.
func Encode(v any) ([]byte, error) { return AppendEncode(nil, v) }

// AppendEncode appends v as one frame to dst.
func AppendEncode(dst []byte, v any) ([]byte, error) {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(v); err != nil {
		return dst, err
	}
	return append(dst, b.Bytes()...), nil
}

// Writer writes frames to an io.Writer.
type Writer struct {
	mu sync.Mutex
	w  io.Writer
}

// NewWriter returns a Writer on w.
func NewWriter(w io.Writer) *Writer { return &Writer{w: w} }

// WriteMessage writes v as one frame.
func (w *Writer) WriteMessage(v any) error {
	frame, err := Encode(v)
	if err != nil {
		return err
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	_, err = w.w.Write(frame)
	return err
}

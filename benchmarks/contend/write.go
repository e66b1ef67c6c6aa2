package contend

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"reflect"

	gojson "github.com/goccy/go-json"

	"example.com/mcp/framing"
	"example.com/mcp/framing/benchmarks/traffic"
)

// Job is one message to write, in the forms that the contenders take.
type Job struct {
	Name    string
	Message *framing.Message // for framing; nil: Value is for all
	Value   any              // for everybody else
}

// outgoing is the struct that a Go program marshals a JSON-RPC message from.
type outgoing struct {
	JSONRPC string          `json:"jsonrpc"`
	ID      json.RawMessage `json:"id,omitempty"`
	Method  string          `json:"method,omitempty"`
	Params  json.RawMessage `json:"params,omitempty"`
	Result  json.RawMessage `json:"result,omitempty"`
}

// answer is a response with a Go string in it.
type answer struct {
	JSONRPC string `json:"jsonrpc"`
	ID      int    `json:"id"`
	Result  struct {
		Content []content `json:"content"`
	} `json:"result"`
}

type content struct {
	Type string `json:"type"`
	Text string `json:"text"`
}

// Jobs lists what is written: composed messages with raw params or a raw
// result, and structs with a Go string.
func Jobs() []Job {
	params := json.RawMessage(`{"name":"search","arguments":{"query":"where the ladder ends","limit":20,"exact":false,"from":1}}`)
	jobs := []Job{composed("raw params, 100 B", framing.Message{Method: "tools/call", Params: params})}
	for _, r := range results {
		jobs = append(jobs, composed("raw result, "+r.name, framing.Message{Result: traffic.Result(r.content, r.size)}))
	}
	for _, r := range results {
		jobs = append(jobs, valued("struct, "+r.name, traffic.Result(r.content, r.size)))
	}
	return jobs
}

var results = []struct {
	name    string
	content traffic.Content
	size    int
}{
	{"100 B", traffic.Prose, 100},
	{"4 KB of code", traffic.Code, 4 << 10},
	{"256 KB of code", traffic.Code, 256 << 10},
	{"256 KB of prose", traffic.Prose, 256 << 10},
}

func composed(name string, m framing.Message) Job {
	m.ID = json.RawMessage("1234567")
	return Job{name, &m, &outgoing{"2.0", m.ID, m.Method, m.Params, m.Result}}
}

func valued(name string, result []byte) Job {
	a := &answer{JSONRPC: "2.0", ID: 1234567}
	if err := json.Unmarshal(result, &a.Result); err != nil {
		panic(err) // the generator's fault
	}
	return Job{name, nil, a}
}

// Writer writes messages as frames.
//
// The job: one line of compact JSON, <, > and & as they are, raw parts checked,
// and a newline. New returns a function that writes the frame of a job to out.
type Writer struct {
	Name string
	Role Role
	New  func(out io.Writer) func(*Job) error
}

// Writers lists the contenders; the first is this module's AppendEncode, the
// second the baseline of the standard library.
var Writers = []Writer{
	{"framing.AppendEncode", Ours, func(out io.Writer) func(*Job) error {
		var frame []byte
		return func(j *Job) (err error) {
			if frame, err = framing.AppendEncode(frame[:0], j.ours()); err != nil {
				return err
			}
			_, err = out.Write(frame)
			return err
		}
	}},
	{"json.Encoder", Standard, func(out io.Writer) func(*Job) error {
		e := json.NewEncoder(out)
		e.SetEscapeHTML(false)
		return func(j *Job) error { return e.Encode(j.Value) }
	}},
	{"framing.Encode", Ours, func(out io.Writer) func(*Job) error {
		return func(j *Job) error {
			frame, err := framing.Encode(j.ours())
			if err != nil {
				return err
			}
			_, err = out.Write(frame)
			return err
		}
	}},
	{"framing.Writer", Ours, func(out io.Writer) func(*Job) error {
		w := framing.NewWriter(out)
		return func(j *Job) error { return w.WriteMessage(j.ours()) }
	}},
	{"goccy/go-json", Library, func(out io.Writer) func(*Job) error {
		e := gojson.NewEncoder(out)
		e.SetEscapeHTML(false)
		return func(j *Job) error { return e.Encode(j.Value) }
	}},
}

func (j *Job) ours() any {
	if j.Message != nil {
		return j.Message
	}
	return j.Value
}

// CheckWriter reports whether w writes j as one line that says what j says, and
// nothing in it that JSON could do without.
func CheckWriter(w Writer, j *Job) error {
	frame, err := second(w, j)
	if err != nil {
		return fmt.Errorf("%s: %w", w.Name, err)
	}
	want, err := json.Marshal(j.Value)
	if err != nil {
		return err
	}
	if bytes.IndexByte(frame, '\n') != len(frame)-1 || len(frame) > len(want)+1 {
		return fmt.Errorf("%s: %d bytes, want a line of at most %d: %.200q", w.Name, len(frame), len(want)+1, frame)
	}
	var a, b any
	if err := errors.Join(json.Unmarshal(frame, &a), json.Unmarshal(want, &b)); err != nil {
		return fmt.Errorf("%s: %w", w.Name, err)
	}
	if !reflect.DeepEqual(a, b) {
		return fmt.Errorf("%s wrote %.200q, want %.200q", w.Name, frame, want)
	}
	return nil
}

// second returns the second frame that w writes, so that a buffer used again
// shows.
func second(w Writer, j *Job) ([]byte, error) {
	var out bytes.Buffer
	write := w.New(&out)
	if err := write(j); err != nil {
		return nil, err
	}
	out.Reset()
	err := write(j)
	return out.Bytes(), err
}

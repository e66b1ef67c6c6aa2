package show

import (
	"bufio"
	"encoding/json"
	"io"

	"example.com/mcp/framing/cmd/mcptap/internal/observe"
)

// machine prints one JSON object a line: entries as they are, and everything
// else with an "event" member that says what it is.
type machine struct {
	w   *bufio.Writer
	enc *json.Encoder
	err error
}

func newJSON(w io.Writer) *machine {
	b := bufio.NewWriter(w)
	enc := json.NewEncoder(b)
	enc.SetEscapeHTML(false)
	return &machine{w: b, enc: enc}
}

func (m *machine) put(v any) {
	if err := m.enc.Encode(v); err != nil && m.err == nil {
		m.err = err
	}
}

func (m *machine) File(name string) {
	m.put(struct {
		Event string `json:"event"`
		File  string `json:"file"`
	}{"file", name})
}

func (m *machine) Entry(e *observe.Entry)  { m.put(e) }
func (m *machine) Event(ev *observe.Event) { m.put(ev) }

func (m *machine) Note(line string) {
	m.put(struct {
		Event string `json:"event"`
		Text  string `json:"text"`
	}{"note", line})
}

// Summary writes the findings, a line each, and then the counts.
func (m *machine) Summary(s observe.Summary) {
	for _, f := range s.Findings {
		m.put(struct {
			Event string `json:"event"`
			observe.Finding
		}{"finding", f})
	}
	m.put(struct {
		Event string `json:"event"`
		observe.Summary
	}{"summary", s})
}

func (m *machine) Flush() error {
	if err := m.w.Flush(); err != nil {
		return err
	}
	return m.err
}

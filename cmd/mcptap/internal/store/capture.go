package store

import (
	"bufio"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"example.com/mcp/framing/cmd/mcptap/internal/observe"
)

// Capture keeps the raw bytes of each direction in a file of its own, and in
// reads.ndjson the time and size of each read in the order in which they
// were seen. A folder that holds captures already gets another set of files,
// numbered.
type Capture struct {
	raw    [3]*stream
	reads  *os.File
	w      *bufio.Writer
	enc    *json.Encoder
	redact *[3]observe.Redactor // nil: bytes are kept as they are
	err    error                // the first one; then nothing more is written
}

type stream struct {
	f *os.File
	w *bufio.Writer
}

// read is a line of reads.ndjson: the head, the size of a read, a gap, or an
// end.
type read struct {
	Mcptap  string       `json:"mcptap,omitempty"` // "capture", in the first one
	Time    time.Time    `json:"time,omitzero"`
	Dir     observe.Dir  `json:"dir,omitzero"`
	Bytes   int          `json:"bytes,omitempty"`
	Gap     *observe.Gap `json:"gap,omitempty"`
	EOF     bool         `json:"eof,omitempty"`   // the direction has ended
	Files   []string     `json:"files,omitempty"` // to the server, to the client
	Command []string     `json:"command,omitempty"`
	End     *observe.End `json:"end,omitempty"`
}

// OpenCapture creates the files of a capture in the folder dir, and the folder
// if need be. With redact values are masked, see observe.Redactor.
func OpenCapture(dir string, redact bool) (*Capture, error) {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, err
	}
	reads, number, err := createReads(dir)
	if err != nil {
		return nil, err
	}
	c := &Capture{reads: reads, w: bufio.NewWriter(reads)}
	c.enc = json.NewEncoder(c.w)
	if redact {
		c.redact = new([3]observe.Redactor)
	}
	for _, d := range []observe.Dir{observe.ToServer, observe.ToClient} {
		f, err := create(filepath.Join(dir, d.String()+number+".ndjson"))
		if err != nil {
			return nil, err
		}
		c.raw[d] = &stream{f, bufio.NewWriterSize(f, flushBytes)}
	}
	return c, nil
}

// createReads creates the first of reads.ndjson, reads-2.ndjson, … that does
// not exist. Whoever creates it owns the files of the same number.
func createReads(dir string) (f *os.File, number string, err error) {
	for n := 1; ; n++ {
		if n > 1 {
			number = fmt.Sprintf("-%d", n)
		}
		f, err = create(filepath.Join(dir, "reads"+number+".ndjson"))
		if !os.IsExist(err) {
			return f, number, err
		}
	}
}

func create(name string) (*os.File, error) {
	return os.OpenFile(name, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
}

// Start records the start of the server.
func (c *Capture) Start(at time.Time, command []string) {
	if c == nil {
		return
	}
	var files []string
	for _, s := range c.raw[observe.ToServer:] {
		files = append(files, filepath.Base(s.f.Name()))
	}
	c.put(read{Mcptap: "capture", Time: at, Files: files, Command: command})
}

// Chunk records the bytes of one read.
func (c *Capture) Chunk(at time.Time, d observe.Dir, data []byte) {
	if c == nil {
		return
	}
	n := len(data)
	if c.redact != nil {
		data = c.redact[d].Mask(make([]byte, 0, n), data)
	}
	if _, err := c.raw[d].w.Write(data); err != nil && c.err == nil {
		c.err = err
	}
	c.put(read{Time: at, Dir: d, Bytes: n})
}

// Gap records that bytes went by unseen.
func (c *Capture) Gap(at time.Time, d observe.Dir, g observe.Gap) {
	if c == nil {
		return
	}
	if c.redact != nil {
		c.redact[d].Gap(g)
	}
	c.put(read{Time: at, Dir: d, Gap: &g})
}

// EOF records the end of a direction.
func (c *Capture) EOF(at time.Time, d observe.Dir) {
	if c != nil {
		c.put(read{Time: at, Dir: d, EOF: true})
	}
}

// End records the end of the server.
func (c *Capture) End(at time.Time, end observe.End) {
	if c != nil {
		c.put(read{Time: at, End: &end})
	}
}

func (c *Capture) put(r read) {
	if c.err == nil {
		c.err = c.enc.Encode(r)
	}
}

// Flush writes what has gathered, the bytes before the reads that count
// them.
func (c *Capture) Flush() {
	if c == nil {
		return
	}
	for _, w := range []*bufio.Writer{c.raw[observe.ToServer].w, c.raw[observe.ToClient].w, c.w} {
		if err := w.Flush(); err != nil && c.err == nil {
			c.err = err
		}
	}
}

// Close writes the rest and returns the first error of writing.
func (c *Capture) Close() error {
	if c == nil {
		return nil
	}
	c.Flush()
	for _, f := range []*os.File{c.raw[observe.ToServer].f, c.raw[observe.ToClient].f, c.reads} {
		if err := f.Close(); err != nil && c.err == nil {
			c.err = err
		}
	}
	return c.err
}

package contend

import (
	"bufio"
	"encoding/json"
	"io"

	gojson "github.com/goccy/go-json"

	"example.com/mcp/framing"
)

// Readers lists the contenders for the whole job; the first is this module's
// Reader, the second the baseline of the standard library.
var Readers = []Reader{
	{Name: "framing.Reader", Role: Ours, Read: readFraming},
	{Name: "bufio.Scanner + json.Unmarshal", Role: Standard, Read: readScanner},
	{Name: "framing.LineReader", Role: Ours, Read: feedFraming},
	{Name: "bufio.Reader + json.Unmarshal", Role: Standard, Read: readBufio},
	{Name: "goccy/go-json", Role: Library, Read: readLibrary(gojson.Unmarshal)},
}

func readFraming(r io.Reader, each func(*framing.Message)) error {
	in := framing.NewReader(r)
	var m framing.Message
	var err error
	for {
		if m, err = in.ReadMessage(); err != nil {
			return ignoreEOF(err)
		}
		each(&m)
	}
}

func feedFraming(r io.Reader, each func(*framing.Message)) error {
	var in framing.LineReader
	chunk := make([]byte, ReadSize)
	for {
		n, err := r.Read(chunk)
		ms := in.Feed(chunk[:n])
		for i := range ms {
			each(&ms[i])
		}
		if err != nil {
			if m, ok := in.Flush(); ok {
				each(&m)
			}
			return ignoreEOF(err)
		}
	}
}

// readScanner is what most programs do. It does not copy the line: a RawMessage
// copies its value, so the messages last.
func readScanner(r io.Reader, each func(*framing.Message)) error {
	in := bufio.NewScanner(r)
	in.Buffer(make([]byte, ReadSize), framing.DefaultMaxLine)
	var m framing.Message
	var e envelope
	for in.Scan() {
		e.unmarshal(json.Unmarshal, in.Bytes(), &m)
		each(&m)
	}
	return in.Err()
}

func readBufio(r io.Reader, each func(*framing.Message)) error {
	in := bufio.NewReaderSize(r, ReadSize)
	var m framing.Message
	var e envelope
	for {
		line, err := in.ReadBytes('\n')
		if len(line) > 0 {
			e.unmarshal(json.Unmarshal, line, &m)
			each(&m)
		}
		if err != nil {
			return ignoreEOF(err)
		}
	}
}

// readLibrary gives the library its best case: the cheapest lines. It adds
// utf8.Valid, because neither library looks at the bytes of a skipped string.
func readLibrary(unmarshalLine func([]byte, any) error) func(io.Reader, func(*framing.Message)) error {
	return func(r io.Reader, each func(*framing.Message)) error {
		var m framing.Message
		var e envelope
		for l := newLines(r); ; {
			line, err := l.next()
			if err != nil {
				return ignoreEOF(err)
			}
			e.unmarshal(unmarshalLine, line, &m)
			each(&m)
		}
	}
}

func ignoreEOF(err error) error {
	if err == io.EOF {
		return nil
	}
	return err
}

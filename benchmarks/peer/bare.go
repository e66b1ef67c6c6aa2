package peer

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"os/exec"

	"example.com/mcp/framing"
)

var (
	barePing = []byte(`{"jsonrpc":"2.0","id":1,"method":"ping"}` + "\n")
	bareTool = []byte(`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"text","arguments":{}}}` + "\n")
)

// serveBare sends each line back, or the result of the tool, and looks at
// nothing but the length.
func serveBare(r io.ReadCloser, w io.WriteCloser, text string, _ func()) error {
	in := bufio.NewReaderSize(r, 64<<10)
	result, err := framing.Encode(newResult(text))
	if err != nil {
		return err
	}
	for {
		line, err := in.ReadSlice('\n')
		if err == io.EOF {
			return nil
		}
		if err != nil {
			return err
		}
		if len(line) == len(bareTool) {
			line = result
		}
		if _, err := w.Write(line); err != nil {
			return err
		}
	}
}

type bareSession struct {
	cmd *exec.Cmd
	in  io.WriteCloser
	out *bufio.Reader
}

func dialBare(cmd *exec.Cmd) (Session, error) {
	in, out, err := start(cmd)
	return &bareSession{cmd, in, bufio.NewReaderSize(out, 64<<10)}, err
}

func (s *bareSession) Ping() error {
	if _, err := s.in.Write(barePing); err != nil {
		return err
	}
	line, err := s.out.ReadSlice('\n')
	if err == nil && !bytes.Equal(line, barePing) {
		err = errors.New("other line")
	}
	return err
}

func (s *bareSession) Tool() (any, error) {
	if _, err := s.in.Write(bareTool); err != nil {
		return nil, err
	}
	line, err := s.out.ReadBytes('\n')
	return json.RawMessage(line), err
}

func (s *bareSession) Close() error { return errors.Join(s.in.Close(), s.cmd.Wait()) }

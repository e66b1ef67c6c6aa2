package child

import (
	"context"
	"errors"
	"fmt"
	"strconv"

	"example.com/mcp/framing"
	"example.com/mcp/framing/benchmarks/contend"
)

// Drain reads what a child writes, at least n small messages, and returns how
// many there were.
func Drain(r contend.Reader, n int, each func(*framing.Message)) (count int, err error) {
	cmd := Command(context.Background(), "write", strconv.Itoa(n))
	out, err := cmd.StdoutPipe()
	if err != nil {
		return 0, err
	}
	if err := cmd.Start(); err != nil {
		return 0, err
	}
	err = r.Read(out, func(m *framing.Message) {
		count++
		each(m)
	})
	if err == nil && count < n {
		err = fmt.Errorf("child gave %d messages, want %d", count, n)
	}
	return count, errors.Join(err, cmd.Wait())
}

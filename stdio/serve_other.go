//go:build !unix || solaris || illumos

package stdio

import "os"

// streams are the stdin and stdout that Serve has claimed.
type streams struct {
	in, out, null *os.File
}

// claim puts an empty file and stderr into os.Stdin and os.Stdout.
func claim() (*streams, error) {
	null, err := os.Open(os.DevNull)
	if err != nil {
		return nil, err
	}
	s := &streams{os.Stdin, os.Stdout, null}
	os.Stdin, os.Stdout = null, os.Stderr
	return s, nil
}

func (s *streams) restore(error) {
	os.Stdin, os.Stdout = s.in, s.out
	s.null.Close()
}

package peer

import (
	"errors"
	"sync"
)

// Callers is how many call at once where many do.
const Callers = 64

// PingMany sends n pings, one after the other.
func PingMany(s Session, n int) error {
	for range n {
		if err := s.Ping(); err != nil {
			return err
		}
	}
	return nil
}

// PingTogether sends n pings from each of Callers goroutines.
func PingTogether(s Session, n int) error {
	var wg sync.WaitGroup
	errs := make([]error, Callers)
	for i := range errs {
		wg.Go(func() { errs[i] = PingMany(s, n) })
	}
	wg.Wait()
	return errors.Join(errs...)
}

package main

import (
	"errors"
	"fmt"
	"time"

	"example.com/mcp/framing/benchmarks/measure"
	"example.com/mcp/framing/benchmarks/peer"
)

// load is one way to keep a peer busy.
type load struct {
	name  string
	calls int // in one run
	many  bool
	run   func(peer.Session) error
}

var loads = []load{
	{"ping, one caller", 100, false, func(s peer.Session) error { return peer.PingMany(s, 100) }},
	{"ping, 64 callers", 64 * 50, true, func(s peer.Session) error { return peer.PingTogether(s, 50) }},
	{"1 MB tool result", 1, false, func(s peer.Session) error { _, err := s.Tool(); return err }},
}

// peerTable prints what calls to a child process cost, over real pipes, the
// other end being of the same make.
func peerTable(c *config) (err error) {
	fmt.Println("\n### Calls to a child process over pipes")
	var peers []peer.Peer
	var sessions []peer.Session
	for _, p := range peer.Peers {
		if !c.wants(p.Name) {
			continue
		}
		s, err := peer.Start(p)
		if err != nil {
			return err
		}
		defer func() { err = errors.Join(err, s.Close()) }()
		peers, sessions = append(peers, p), append(sessions, s)
	}
	for _, l := range loads {
		if err := peerLoad(c, l, peers, sessions); err != nil {
			return err
		}
	}
	return serverTable(c)
}

// serverTable prints what a server of each make allocates and holds.
func serverTable(c *config) error {
	fmt.Printf("\n**In the server's process**\n\n| server | allocs/ping | B/ping | memory of a waiting request, B | handlers begun, of %d |\n|---|---:|---:|---:|---:|\n", peer.Waiting)
	for _, p := range peer.Peers {
		if p.Bare || !c.wants(p.Name) {
			continue
		}
		allocs, size, err := peer.ServerAllocs(p, 20_000)
		if err != nil {
			return err
		}
		fmt.Printf("| %s | %.1f | %.0f |", p.Name, allocs, size)
		if p.Name == "mcp-go" {
			fmt.Println(" – | stops reading at 106 |")
			continue
		}
		held, handlers, err := peer.ServerMemory(p)
		if err != nil {
			return err
		}
		fmt.Printf(" %.0f | %d |\n", held, handlers)
	}
	held, err := peer.ClientMemory()
	fmt.Printf("\nA call of framing/stdio that waits takes %.0f B in the client, its goroutine included (%d at once). Memory is heap and stacks.\n", held, peer.Waiting)
	return err
}

func peerLoad(c *config, l load, peers []peer.Peer, sessions []peer.Session) error {
	var cs []measure.Contender
	for i, p := range peers {
		if !l.many || !p.Bare {
			cs = append(cs, measure.Contender{Name: p.Name, Run: func() error { return l.run(sessions[i]) }})
		}
	}
	// A round trip takes ten times as long if it wakes the other core: many
	// short rounds see both, and the median says which is usual.
	results, err := measure.Compare(cs, measure.Options{Rounds: 6 * c.Rounds, Span: c.Span / 10})
	if err != nil || len(results) == 0 {
		return err
	}
	fmt.Printf("\n**%s**\n\n| client and server | best, µs/call | median | calls/s | best / framing's | median / framing's | allocs/call, client |\n|---|---:|---:|---:|---:|---:|---:|\n", l.name)
	for _, r := range results {
		best, median := micros(r.Time, l.calls), micros(r.Median, l.calls)
		fmt.Printf("| %s | %.1f | %.1f | %.0f | %s | %s | %.0f |\n", r.Name, best, median, 1e6/median,
			ratio(best, micros(results[0].Time, l.calls)), ratio(median, micros(results[0].Median, l.calls)), r.Allocs/float64(l.calls))
	}
	return nil
}

func micros(d time.Duration, calls int) float64 {
	return float64(d.Nanoseconds()) / 1e3 / float64(calls)
}

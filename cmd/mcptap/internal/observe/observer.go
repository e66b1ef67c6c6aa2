package observe

import "time"

// An Observer follows a whole session from the bytes of its two directions,
// or of one stream of which nobody knows the direction.
type Observer struct {
	// OnEntry, if set, is called for each line once it is paired; OnEvent for
	// each event. Both get pointers that they may keep.
	OnEntry func(*Entry)
	OnEvent func(*Event)

	tracker  *Tracker
	scanners [3]Scanner
	ended    [3]bool
}

// NewObserver returns an Observer with the given limit and excerpts masked if
// redact is set.
func NewObserver(maxLine int, redact bool) *Observer {
	o := &Observer{tracker: NewTracker()}
	for d := range o.scanners {
		o.scanners[d] = Scanner{Dir: Dir(d), MaxLine: maxLine, Redact: redact, Emit: o.entry}
	}
	return o
}

// Start takes the start of the server.
func (o *Observer) Start(at time.Time, command []string) {
	o.event(&Event{Time: at, Name: EventStart, Command: command})
}

// Chunk takes the bytes of one read. It keeps no reference to them.
func (o *Observer) Chunk(at time.Time, d Dir, chunk []byte) { o.scanners[d].Feed(at, chunk) }

// Gap takes note of bytes that were not observed.
func (o *Observer) Gap(at time.Time, d Dir, g Gap) {
	o.scanners[d].Gap(g)
	o.event(&Event{Time: at, Name: EventGap, Dir: d, Gap: &g})
}

// EOF takes the end of one direction; a second one is ignored.
func (o *Observer) EOF(at time.Time, d Dir) {
	if o.ended[d] {
		return
	}
	o.ended[d] = true
	o.scanners[d].EOF(at)
	raw := o.scanners[d].Raw()
	o.event(&Event{Time: at, Name: EventEOF, Dir: d, Raw: &raw})
}

// End takes the end of the server.
func (o *Observer) End(at time.Time, end End) {
	o.event(&Event{Time: at, Name: EventEnd, End: &end})
}

// Summary returns the session as far as it was seen; see Tracker.Summary.
func (o *Observer) Summary(now time.Time, final bool) Summary {
	for d := range o.scanners {
		o.tracker.SetRaw(Dir(d), o.scanners[d].Raw())
	}
	return o.tracker.Summary(now, final)
}

func (o *Observer) entry(e *Entry) {
	o.tracker.Add(e)
	if o.OnEntry != nil {
		o.OnEntry(e)
	}
}

func (o *Observer) event(ev *Event) {
	o.tracker.Event(ev)
	if o.OnEvent != nil {
		o.OnEvent(ev)
	}
}

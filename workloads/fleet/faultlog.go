package fleet

import "math"

// Outage is a span in which something was down.
type Outage struct{ Start, Duration Time }

// FaultLog is when servers were down, as a log tells.
type FaultLog struct {
	Servers [][]Outage // by server, in order and apart
	Span    Time       // of the log
	NumOpen int        // outages whose end is not told: they last until the log ends
}

// faultEvent is an entry of InfiniteHBD's log.
type faultEvent struct {
	Node *string  `json:"node_id"`
	Time *float64 `json:"event_time"` // days
	Type string   `json:"event_type"`
}

// ReadFaults reads a log of faults in InfiniteHBD's form (Shou et al., SIGCOMM 25), of so many servers: a JSON list of
// the moments, in days and in order, at which a fault of a server begins or ends. A server is down while any fault of it
// lasts; one whose fault ends that has not begun was down from the log's beginning. It fails with the line.
func ReadFaults(name string, data []byte, servers int) (*FaultLog, error) {
	l := &logReader{name: name, data: data}
	type server struct {
		faults int // that last
		since  Time
		list   []Outage
	}
	known := map[string]*server{}
	var order []*server
	f := &FaultLog{}
	err := entries(l, func(e *faultEvent) error {
		switch {
		case e.Node == nil || e.Time == nil || !(*e.Time >= 0 && *e.Time <= MaxTime.Days()):
			return l.errorf("ends an entry without node_id, or without event_time in days from 0")
		case FromSeconds(*e.Time*Day.Seconds()) < f.Span:
			return l.errorf("ends an entry at day %g, before the one above it; sort the log by time", *e.Time)
		case e.Type != "fault_start" && e.Type != "fault_end":
			return l.errorf("ends an entry of another type; want fault_start or fault_end")
		}
		f.Span = FromSeconds(*e.Time * Day.Seconds())
		s := known[*e.Node]
		if s == nil {
			if len(order) == servers {
				return l.errorf("ends an entry of one server more than %d; say how many servers the log is of", servers)
			}
			s = &server{}
			known[*e.Node], order = s, append(order, s)
		}
		switch {
		case e.Type == "fault_start":
			if s.faults++; s.faults == 1 {
				s.since = f.Span
			}
			return nil
		case s.faults > 0:
			s.faults--
		case len(s.list) > 0:
			return l.errorf("ends an entry of a fault that ends and has not begun")
		}
		if s.faults == 0 {
			s.list = append(s.list, Outage{s.since, max(Millisecond, f.Span-s.since)})
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	if len(order) == 0 || f.Span == 0 {
		l.line = 1
		return nil, l.errorf("holds no fault")
	}
	f.Servers = make([][]Outage, servers)
	for i, s := range order {
		if s.faults > 0 {
			f.NumOpen++
			s.list = append(s.list, Outage{s.since, max(Millisecond, f.Span-s.since)})
		}
		f.Servers[i] = s.list
	}
	return f, nil
}

// Process returns how servers fail on average, and that their failures are those of the log.
func (f *FaultLog) Process() Process {
	n, down := 0, Time(0)
	for _, s := range f.Servers {
		n += len(s)
		for _, o := range s {
			down += o.Duration
		}
	}
	up := float64(len(f.Servers))*f.Span.Days() - down.Days()
	return Process{PerDay: float64(n) / max(up, math.SmallestNonzeroFloat64), Weibull: 1,
		Repair: Spread{Form: Constant, Mean: down / Time(max(1, n))}, Log: f}
}

// history yields the outages of one machine: those of a server of the log, read cyclically from a moment of the log on.
type history struct {
	outages []Outage
	span    Time // of the log
	base    Time // when the current pass through the log begins; below 0 for a reading that begins within the log
	next    int  // index in outages
}

// history returns the outages of machine i of n. The machines are spread evenly over the servers in the order of their
// first faults, so that a server is read by n / len(f.Servers) machines, rounded up or down, or, if machines are fewer
// than servers, by at most one. Readings of the same server begin evenly apart, so that its copies do not fail at once.
func (f *FaultLog) history(i, n int) *history {
	servers := len(f.Servers)
	position := i * stride(n) % n
	server := position * servers / n
	first := (server*n + servers - 1) / servers // place of the first machine that reads this server
	end := ((server+1)*n + servers - 1) / servers
	offset := f.Span / Time(end-first) * Time(position-first)
	return &history{outages: f.Servers[server], span: f.Span, base: -offset}
}

// stride returns a number without a common divisor with n, near n over the golden ratio: its multiples modulo n are
// spread evenly, so that the machines of each cube and of each pod are an even sample of the servers, too.
func stride(n int) int {
	for s := int(float64(n) / math.Phi); ; s++ {
		a, b := n, s
		for b != 0 {
			a, b = b, a%b
		}
		if a == 1 {
			return s
		}
	}
}

// step goes on to the next outage, in the next pass through the log after the last one.
func (h *history) step() {
	if h.next++; h.next == len(h.outages) {
		h.next, h.base = 0, h.base+h.span
	}
}

// nextOutage returns the time from now to the next outage, 0 if one lasts already, and how long it lasts from then on.
func (h *history) nextOutage(now Time) (after, lasts Time) {
	if len(h.outages) == 0 {
		return MaxTime, Millisecond
	}
	for h.base+h.outages[h.next].Start+h.outages[h.next].Duration <= now {
		h.step()
	}
	o := h.outages[h.next]
	begin, end := max(now, h.base+o.Start), h.base+o.Start+o.Duration
	h.step()
	return begin - now, end - begin
}

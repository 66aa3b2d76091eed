// This file reads logs of faults, and replays them as the failures of machines. A server is
// a computer of the logged system, a machine one of the simulated fleet.

package fleet

import "math"

// Outage is a period in which a server was down.
type Outage struct{ Start, Duration Time }

// FaultLog holds the outages of servers, from a log.
type FaultLog struct {
	Servers [][]Outage // indexed by server; sorted and disjoint
	Span    Time       // duration of the log
	NumOpen int        // outages without an end; they last until the end of the log
}

// faultEvent is an entry of InfiniteHBD's log.
type faultEvent struct {
	Node *string  `json:"node_id"`
	Time *float64 `json:"event_time"` // days
	Type string   `json:"event_type"`
}

// ReadFaults reads a log of faults in the format of InfiniteHBD (Shou et al., "InfiniteHBD:
// Building Datacenter-Scale High-Bandwidth Domain for LLM with Optical Circuit Switching
// Transceivers", SIGCOMM 25). It is a JSON list of the starts and ends of faults, sorted by time in days.
// servers is the number of servers of the logged system.
//
// A server is down while it has at least one fault. A fault that ends without a start has
// lasted from the beginning of the log. Errors contain the line.
func ReadFaults(name string, data []byte, servers int) (*FaultLog, error) {
	l := &logReader{name: name, data: data}
	type server struct {
		faults int      // faults that have started and not ended
		since  Time     // start of the current outage
		list   []Outage // outages that have ended
	}
	known := map[string]*server{} // servers with faults, by name
	var order []*server           // the same, in the order of their first faults
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

		// Find the server of the entry.
		s := known[*e.Node]
		if s == nil {
			if len(order) == servers {
				return l.errorf("ends an entry of one server more than %d; say how many servers the log is of", servers)
			}
			s = &server{}
			known[*e.Node], order = s, append(order, s)
		}

		// Count its current faults. An outage ends with the last of them.
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
			s.list = append(s.list, Outage{Start: s.since, Duration: max(Millisecond, f.Span-s.since)})
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

	// Outages without an end last until the end of the log.
	f.Servers = make([][]Outage, servers)
	for i, s := range order {
		if s.faults > 0 {
			f.NumOpen++
			s.list = append(s.list, Outage{Start: s.since, Duration: max(Millisecond, f.Span-s.since)})
		}
		f.Servers[i] = s.list
	}
	return f, nil
}

// Process returns the failure process of the log: it replays the log, and its rates are
// the log's averages.
func (f *FaultLog) Process() Process {
	n, down := 0, Time(0) // number of outages, and their total duration
	for _, outages := range f.Servers {
		n += len(outages)
		for _, o := range outages {
			down += o.Duration
		}
	}

	// Uptime may be 0; the rate then is very large instead of infinite.
	up := float64(len(f.Servers))*f.Span.Days() - down.Days()
	return Process{PerDay: float64(n) / max(up, math.SmallestNonzeroFloat64), Weibull: exponentialShape,
		Repair: Spread{Form: Constant, Mean: down / Time(max(1, n))}, Log: f}
}

// history replays the outages of one server for one machine. It repeats the log
// cyclically, from an offset.
type history struct {
	outages []Outage // of the server
	span    Time     // duration of the log
	// base is the simulated time at which the current pass through the log starts. It is
	// negative in the first pass if the machine starts in the middle of the log.
	base Time
	next int // index in outages of the next outage
}

// history returns the outages of machine i of n. Machines are spread evenly over the
// servers, in the order of the servers' first faults. Each server is used by n /
// len(f.Servers) machines, rounded up or down; if there are fewer machines than servers,
// by at most one. Machines of the same server have evenly spaced offsets, so that they do
// not fail at the same time.
func (f *FaultLog) history(i, n int) *history {
	servers := len(f.Servers)
	position := i * stride(n) % n // of the machine in the order of servers
	server := position * servers / n

	// The server is used by the machines at positions first to end - 1.
	first := (server*n + servers - 1) / servers // first machine of this server
	end := ((server+1)*n + servers - 1) / servers
	offset := f.Span / Time(end-first) * Time(position-first)
	return &history{outages: f.Servers[server], span: f.Span, base: -offset}
}

// stride returns a number coprime to n, near n divided by the golden ratio. Its multiples
// modulo n are different and spread evenly (Fibonacci hashing; Knuth, "The Art of Computer
// Programming", vol. 3, Sec. 6.4). The machines of each cube and of each pod are thus an even
// sample of the servers.
func stride(n int) int {
	for s := int(float64(n) / math.Phi); ; s++ {
		a, b := n, s // Euclid's algorithm
		for b != 0 {
			a, b = b, a%b
		}
		if a == 1 {
			return s
		}
	}
}

// step advances to the next outage, and after the last one to the next pass through the
// log.
func (h *history) step() {
	if h.next++; h.next == len(h.outages) {
		h.next, h.base = 0, h.base+h.span
	}
}

// nextOutage returns the time from now to the next outage and its duration. If an outage
// lasts at now, it returns 0 and the remaining duration.
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

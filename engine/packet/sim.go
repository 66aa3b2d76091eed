package packet

import (
	"fmt"
	"math"

	"sim/engine"
)

// sim simulates packets. Ids of the calendar are links (in the served loop three times: ends of sending, arrivals,
// credits), then injectors, then tasks.
type sim struct {
	n         *engine.Network
	o         Options
	flows     []engine.Flow
	paths     paths
	calendar  *calendar
	chunks    chunks
	most      int64 // chunks that may be made
	full      bool  // more were
	stopped   bool  // by Options.Stop
	injectors []injector
	base      int32   // id of the first injector
	windowOf  []int32 // by flow: its injector where it has a window, -1 else; nil if none has
	job       *job    // the task graph, if one is simulated
	from, to  engine.Time
	watch     bool // something waits for what becomes of packets
	reaction  reaction
	log       *[]arrival
	s         Stats

	parts *parts // nil if packets cannot be simulated part by part

	links   []link // booked
	paces   []pace
	touched int32 // what was read for the cache's sake alone
	home    int32 // a link that may be read in place of none
	served
}

// arrival is a packet's end, kept for tests.
type arrival struct {
	flow       int32
	inject, at engine.Time
	dropped    bool
}

func newSim(n *engine.Network, w *Work, o Options, largest int64) (*sim, error) {
	if o.MaxBytes == 0 {
		o.MaxBytes = DefaultMaxBytes
	}
	if need := memory(n, w, &o); need > o.MaxBytes {
		return nil, fmt.Errorf("%w: it needs %d B of memory, of %d B that it may take", ErrWork, need, o.MaxBytes)
	}
	z := &sim{n: n, o: o, flows: w.Flows, from: o.MeasureFrom, to: o.MeasureUntil, most: min(o.MaxBytes/chunkBytes, mostChunks)}
	if z.to == 0 {
		z.to = engine.Never
	}
	var err error
	if z.paths, err = newPaths(n, w, &o); err != nil {
		return nil, err
	}
	ids := len(n.Links)
	if z.on = mustServe(n, &o); z.on {
		z.newServed(largest)
		ids *= 3
	} else {
		z.newBooked()
	}
	z.chunks.grow()
	z.base = int32(ids)
	z.newInjectors(w)
	if int64(ids)+int64(len(z.injectors))+int64(len(z.flows)) > math.MaxInt32/16 {
		return nil, fmt.Errorf("%w: %d links, %d processes and %d flows are too many to number", ErrWork, len(n.Links), len(z.injectors), len(z.flows))
	}
	return z, nil
}

// schedule makes the calendar, of so many tasks, and sets the injectors in it.
func (z *sim) schedule(tasks int) {
	z.watch = z.windowOf != nil || z.job != nil || z.log != nil
	z.calendar = newCalendar(int(z.base) + len(z.injectors) + tasks)
	for i := range z.injectors {
		m := &z.injectors[i]
		at := m.start
		if m.process == Poisson {
			at = engine.Time(m.at)
		}
		if m.stop != 0 && at >= m.stop {
			continue
		}
		z.calendar.set(z.base+int32(i), at)
	}
}

// simulate runs the events to the end, and between them, before all else of their times, changes of links and paths,
// samples, and looks at whether it may end; and reactions to the ends of tasks after all else of their times.
func (z *sim) simulate() error {
	until := z.o.Until
	if until == 0 {
		until = engine.Never
	}
	changes, rewires := z.n.Changes, z.o.Rewire
	sample, done := engine.Never, engine.Never
	if z.o.SampleEvery > 0 {
		sample = z.o.SampleEvery
	}
	if z.o.EndMeasured {
		done = z.to
	}
	if err := z.react(0); err != nil {
		return err
	}
	for {
		at := min(sample, done, z.reaction.next())
		if len(changes) > 0 {
			at = min(at, changes[0].At)
		}
		if len(rewires) > 0 {
			at = min(at, rewires[0].At)
		}
		over := at > until || at == engine.Never
		if over {
			z.run(until)
		} else {
			z.run(at - 1)
		}
		if err := z.tooMuch(); err != nil {
			return err
		}
		if len(z.reaction.ended) > 0 { // links may change now
			if err := z.react(z.reaction.at); err != nil {
				return err
			}
			continue
		}
		if over || z.calendar.empty() && (z.s.InFlight() == 0 && z.job == nil || len(changes)+len(rewires) == 0 && z.reaction.next() == engine.Never) {
			return nil
		}
		switch {
		case len(changes) > 0 && changes[0].At == at:
			z.change(changes[0])
			changes = changes[1:]
		case z.reaction.next() == at:
			if err := z.react(at); err != nil {
				return err
			}
		case len(rewires) > 0 && rewires[0].At == at:
			z.rewire(&rewires[0])
			rewires = rewires[1:]
		case sample == at:
			z.sample()
			sample += z.o.SampleEvery
		default:
			if z.s.MeasuredInjected == z.s.Delay.Count+z.s.MeasuredDropped {
				return nil
			}
			done += max(1, (z.to-z.from)/8)
		}
	}
}

// askEvery is how many events lie between two times that Options.Stop is asked: a few milliseconds.
const askEvery = 1 << 16

// told asks Options.Stop, and reports whether the run must end.
func (z *sim) told() bool {
	if z.o.Stop != nil && z.o.Stop() {
		z.full, z.stopped = true, true
	}
	return z.stopped
}

func (z *sim) run(until engine.Time) {
	switch {
	case z.on:
		z.serve(until)
	case z.parts != nil:
		z.parts.run(until)
	default:
		z.runBooked(until)
	}
}

// tooMuch fails where packets and samples take more memory than they may.
func (z *sim) tooMuch() error {
	if z.stopped {
		return ErrStopped
	}
	if samples := 4 * int64(len(z.s.Queues)); z.full || samples > z.o.MaxBytes/4 { // copies are made of samples
		return fmt.Errorf("%w: at %v %d packets in the network take %d B of memory and samples %d B, of %d B that they may take",
			ErrWork, z.s.End, z.s.InFlight(), z.chunks.made*chunkBytes, samples, z.o.MaxBytes)
	}
	return nil
}

// launch injects a packet of a flow and puts it before its first link, which is sought if it is nowhere. It returns when the
// link will begin to send it, engine.Never where that is not known yet.
func (z *sim) launch(flow, bytes, hold, first int32, now engine.Time) engine.Time {
	z.s.inject(z, now)
	r := record{inject: now, flow: flow, bytes: bytes, hold: hold}
	return z.depart(&r, first, now)
}

// depart chooses the path of a packet at its source and puts it before its first link, which is sought if it is nowhere.
func (z *sim) depart(r *record, first int32, now engine.Time) engine.Time {
	if z.paths.steps {
		r.route = z.paths.path(r.flow)
	} else {
		r.route = z.flows[r.flow].Dst
	}
	if first == nowhere {
		first = z.paths.next(z.flows[r.flow].Src, r.route)
	}
	switch {
	case first == arrived:
		z.deliver(r, now)
		return now
	case first == nowhere:
		z.drop(r, -1, NoRoute, now)
		return now
	case z.on:
		channel := uint8(0)
		if z.paths.steps {
			channel = uint8(z.paths.step[r.route].Channel())
		}
		if z.alone {
			z.apart.open(first, channel, r, now)
		} else {
			z.enqueue(first, channel, r, now)
		}
		return engine.Never
	default:
		return z.book(first, r, r.route, now)
	}
}

func (z *sim) deliver(r *record, now engine.Time) {
	z.s.deliver(z, r.inject, now, int64(r.bytes))
	if z.watch {
		z.gone(r, now, false)
	}
}

// drop counts a packet that is lost at a link, -1 at none.
func (z *sim) drop(r *record, link int32, why Cause, now engine.Time) {
	z.s.Dropped++
	z.s.DroppedBy[why]++
	if link >= 0 {
		z.servers[link].dropped++
	}
	if r.inject >= z.from && r.inject < z.to {
		z.s.MeasuredDropped++
	}
	if z.watch {
		z.gone(r, now, true)
	}
}

// gone tells windows and tasks that a packet is no longer in flight.
func (z *sim) gone(r *record, now engine.Time, dropped bool) {
	if z.log != nil {
		*z.log = append(*z.log, arrival{r.flow, r.inject, now, dropped})
	}
	if z.job != nil {
		if !dropped {
			z.received(r, now)
		}
	} else if z.windowOf != nil && z.windowOf[r.flow] >= 0 {
		i := z.windowOf[r.flow]
		m := &z.injectors[i]
		a := z.chunks.add(&m.acks)
		*a = record{at: now + m.ack, flow: r.flow}
		if m.acks.length == 1 {
			z.calendar.set(z.base+i, a.at)
		}
	}
}

// sample takes down the queues of all links.
func (z *sim) sample() {
	for i := range z.links {
		z.s.Queues = append(z.s.Queues, z.links[i].queue.length)
	}
	for i := range z.servers {
		z.s.Queues = append(z.s.Queues, z.servers[i].held)
	}
}

// finish makes the statistics. It fails where packets wait that nothing will move.
func (z *sim) finish() (*Stats, error) {
	z.s.SampleEvery = z.o.SampleEvery
	z.s.Links = make([]LinkStats, 0, len(z.n.Links))
	for i := range z.links {
		l := &z.links[i]
		z.s.inFlight += int64(l.queue.length)
		z.s.Links = append(z.s.Links, z.linkStats(l))
		z.s.Hops += z.s.Links[i].Packets
	}
	for i := range z.servers {
		l := &z.servers[i]
		z.s.inFlight += int64(l.held)
		z.chunks.each(&l.wire, func(r *record) {
			l.packets--
			l.bytes -= int64(r.bytes)
		})
		z.s.Hops += l.packets
		through := int32(0)
		if z.ranked != nil {
			through = z.ranked.heaps[i].mostThrough
		}
		z.s.Links = append(z.s.Links, LinkStats{l.packets, l.bytes, l.busy, l.mostHeld, l.waited, l.dropped, l.retries, through})
	}
	if err := z.s.Check(); err != nil {
		return nil, err
	}
	if z.on && z.s.inFlight > 0 && z.calendar.empty() {
		return nil, z.stuck()
	}
	return &z.s, z.checkCredits()
}

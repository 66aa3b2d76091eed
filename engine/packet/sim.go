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

	links []link // booked
	paces []pace
	read  int32 // what was read for the cache's sake alone
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

// schedule makes the calendar and sets the first events of the senders.
func (z *sim) schedule() {
	z.watch = z.windowOf != nil || z.job != nil || z.log != nil
	ids := int(z.base) + len(z.injectors)
	if z.job != nil {
		ids += len(z.job.need) + 1 // the last is that of resolve
	}
	z.calendar = newCalendar(ids)
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
	if z.job != nil {
		for i, need := range z.job.need {
			if need == 0 {
				z.calendar.set(z.agent(int32(i)), 0)
			}
		}
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

// run simulates the events up to a time, in windows if links can be simulated part by part or apart.
func (z *sim) run(until engine.Time) {
	if z.parts != nil {
		z.parts.run(until)
		return
	}
	for z.apart != nil && z.apart.worth(until) && z.calendar.now < z.apart.until {
		if z.apart.run(until) == until || z.full {
			return
		}
	}
	z.events(until, math.MaxInt)
}

// atOnce is how many events of one time are taken from the calendar together.
const atOnce = 16

// events simulates events up to a time in their order. It stops earlier when it has simulated at least most events and
// none of the time of the last is left. It returns the number of events.
func (z *sim) events(until engine.Time, most int) int {
	links := int32(len(z.n.Links))
	var some [atOnce]int32
	done := 0
	for rounds := 0; ; rounds++ {
		ids, now, ok := z.take(some[:], until)
		if !ok || rounds&(askEvery/atOnce-1) == 0 && z.told() {
			return done
		}
		z.bring(ids)
		if done == 0 {
			z.began = now
		}
		if done += len(ids); done >= most {
			until = min(until, now)
		}
		for _, id := range ids {
			switch {
			case id >= z.base:
				z.s.End = now
				if z.fire(id-z.base, now); z.full {
					return done
				}
			case !z.on:
				z.s.End = now
				z.forward(id, now)
			case id < links:
				z.s.End = now
				z.sent(id, now)
			case id < 2*links:
				z.s.End = now
				z.land(id-links, now)
			default:
				z.servers[id-2*links].awaits = false
				z.start(id-2*links, now)
			}
		}
		if len(z.reaction.ended) > 0 {
			until = min(until, now)
		}
	}
}

// take returns the next events of one time: some of them, in their order.
func (z *sim) take(some []int32, until engine.Time) ([]int32, engine.Time, bool) {
	if !z.byNumber {
		return z.calendar.takeSome(some, until)
	}
	if z.taken == len(z.together) {
		z.together, z.taken = z.calendar.takeAll(z.together, until), 0
	}
	ids := z.together[z.taken:min(z.taken+atOnce, len(z.together))]
	z.taken += len(ids)
	return ids, z.calendar.now, len(ids) > 0
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

// drop counts a packet that is lost at a link, or at none if link is -1, and gives up its room in a buffer.
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
	z.release(r.hold, r.bytes, now)
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

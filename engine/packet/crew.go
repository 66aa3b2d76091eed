package packet

import (
	"sync"

	"sim/engine"
)

// crew is what several share.
type crew struct {
	all     []*apart      // that work
	whole   []*apart      // and those that do where there is enough to do
	span    engine.Time   // of a window
	until   engine.Time   // when the last may begin: what is ahead of it is no time any more
	since   engine.Time   // of the one that is simulated
	number  int           // and its number
	last    engine.Time   // up to which it is simulated
	flights []engine.Time // by link: its latency
	flying  []flying      // by link
	greedy  bool          // all sources are
	opening bool          // what is injected is put before its link when that is simulated
	over    bool          // no window is simulated any more
	never   bool          // it takes too much memory
	opened  int           // packets that were put before links so in the window
	barrier *barrier
	scratch []int32
}

// run simulates windows up to a time, and returns up to which: less if little is done in them.
func (p *apart) run(until engine.Time) engine.Time {
	z := p.sim
	p.enter()
	var others sync.WaitGroup
	for _, q := range p.all[1:] {
		others.Go(func() {
			for p.barrier.wait(q.who); !p.over; p.barrier.wait(q.who) {
				q.simulate()
			}
		})
	}
	done, sent := z.calendar.now, p.sum()
	before, asked := sent, sent // of the window before, and when Options.Stop was asked
	for windows := 1; done < until && p.since <= p.until && !z.full && !p.never; windows++ {
		now := p.sum()
		if windows%16 == 0 {
			if some := now - sent; some == 0 || z.o.apart == 0 && some < max(64, 2*int64(len(z.servers))/3) {
				break
			}
			sent = now
		}
		if now-asked >= askEvery {
			if asked = now; z.told() {
				break
			}
		}
		p.last = min(until, p.since+p.span-1)
		if p.inject(); z.full {
			break
		}
		if len(p.all) > 1 && (now-before >= leastSent || z.o.apart > 0) {
			p.barrier.wait(p.who)
			p.simulate()
		} else {
			p.simulateAll()
		}
		before = now
		done = p.last
		if p.complete() {
			p.crew.begin(p.number+1, p.since+p.span)
		}
		p.check()
	}
	p.over = true
	if len(p.all) > 1 {
		p.barrier.wait(p.who)
		others.Wait()
	}
	p.leave(done)
	if p.never {
		for _, q := range p.whole {
			q.windows = nil
		}
	}
	return done
}

// sum returns how many packets links have sent.
func (c *crew) sum() int64 {
	sum := int64(0)
	for _, q := range c.whole {
		sum += q.sent
	}
	return sum
}

// check ends the windows where what is to come takes more memory than it may, and the run where packets do.
func (p *apart) check() {
	sum, made := int64(0), int64(0)
	for _, q := range p.all {
		sum += q.packets.bytes() + q.landings.bytes() + q.credits.bytes()
		made += q.chunks.made
		p.full = p.full || q.sim.full
		p.never = p.never || len(q.packets.all) > mostDescriptors
	}
	p.full = p.full || made > p.most
	p.never = p.never || sum+made*chunkBytes > p.o.MaxBytes
}

// inject has sources inject what they do in the window, but for those that wait for links.
func (p *apart) inject() {
	z := p.sim
	most := max(1<<14, 4*len(z.servers))
	p.opening, p.opened = true, 0
	for {
		p.scratch = z.calendar.takeAll(p.scratch, p.last)
		if len(p.scratch) == 0 {
			break
		}
		now := z.calendar.now
		z.s.End = max(z.s.End, now)
		for _, id := range p.scratch {
			if z.fire(id-z.base, now); z.full {
				return
			}
		}
		if p.opened > most { // it is cut here
			p.last = now
		}
	}
	p.opening = false
}

// simulate simulates what is left of the window, beside others.
func (p *apart) simulate() {
	p.links()
	p.barrier.wait(p.who)
	if p.complete() {
		p.settle()
	}
	p.barrier.wait(p.who)
}

// simulateAll is simulate of all the crew, one after the other.
func (c *crew) simulateAll() {
	for _, q := range c.all {
		q.links()
	}
	if !c.complete() {
		return
	}
	for _, q := range c.all {
		q.settle()
	}
}

// complete reports whether the window is simulated to its end.
func (c *crew) complete() bool { return c.last == c.since+c.span-1 }

// begin begins a window.
func (c *crew) begin(number int, since engine.Time) {
	c.number, c.since = number, since
	for _, q := range c.whole {
		q.now, q.next = &q.windows[number&(len(q.windows)-1)], &q.windows[(number+1)&(len(q.windows)-1)]
	}
}

// links simulates its links in the window.
func (p *apart) links() {
	if len(p.all) > 1 {
		p.take(p.number & (len(p.windows) - 1))
	}
	for i := p.from; i < p.end; i++ {
		if (i-p.from)%atOnce == 0 && (p.greedy || len(p.servers) >= minLinksToBring) {
			p.bring(i, min(i+atOnce, p.end))
		}
		l, first := &p.servers[i], &p.now.first[i]
		if first.packet >= 0 || l.waiting > 0 && (l.state&sending != 0 && l.end <= p.last || first.credit >= 0 && l.state == 0) {
			p.link(i, l)
		}
	}
	p.arrive()
}

// arrive delivers the packets that its links have sent and that end in the window.
func (p *apart) arrive() {
	w, rest := p.now, int32(0)
	for i := range w.ends.used() {
		of := &w.ends.all[i]
		if of.at > p.last {
			w.ends.all[rest] = *of
			rest++
			continue
		}
		p.s.End = max(p.s.End, of.at)
		p.deliver(&of.record, of.at)
	}
	w.ends.n = rest
}

// settle takes the credits of its links that have come in a window that is over, and were not taken yet, and makes room
// for another window.
func (p *apart) settle() {
	for _, c := range p.now.credits.used() {
		p.room[c.channel] += int64(c.bytes)
	}
	p.now.renew(p.from, p.end)
}

// renew makes room for another window of those links.
func (w *ahead) renew(from, end int32) {
	for i := from; i < end; i++ {
		w.first[i] = mail{-1, -1}
	}
	w.ends.renew()
	w.credits.renew()
	for i := range w.aside {
		w.aside[i].landings.renew()
		w.aside[i].credits.renew()
	}
}

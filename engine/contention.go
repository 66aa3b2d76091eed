// This file defines contentions: servers and boxes that compute tasks compete for. Servers model
// what can do one thing at a time, such as a core. Boxes model mailboxes, in which receives match
// messages by source and tag, as in MPI.

package engine

import (
	"cmp"
	"fmt"
	"slices"
)

// Contention describes servers and mailboxes that the compute tasks of a graph compete for, in
// addition to the network. Grants are decided during the simulation, in order of time. A server
// serves tasks in the order in which they become ready. A box matches messages and receives in
// the order in which they arrive. At equal times the order in Holds, Offers or Requests
// decides.
//
// A task of a contention becomes ready like every other task, but it starts only when its
// request is granted.
type Contention struct {
	Holds    []Hold
	Offers   []Offer
	Requests []Request
}

// Hold occupies a server from the start of task First to the end of task Last. A server has one
// hold at a time. A task that is First of several holds starts when all their servers are free,
// and occupies them together.
type Hold struct{ Server, First, Last int32 }

// Offer is a message in a box. Task starts when a request of the box accepts the offer. That
// request ends with task Until, which is Task or one of its successors.
type Offer struct {
	Box, Task, Until int32
	Source           int32  // sender, compared with Request.Source
	Tag              uint32 // compared with Request.Tag
}

// Request is a receive in a box. It accepts the first offer, in order of arrival, with matching
// source and tag. Task starts and ends when Offer.Until of that offer ends.
type Request struct {
	Box, Task int32
	Source    int32
	Tag       uint32
	AnySource bool // accept every source
	AnyTag    bool // accept every tag
}

// IsEmpty reports whether c contains no hold, offer or request.
func (c *Contention) IsEmpty() bool { return len(c.Holds)+len(c.Offers)+len(c.Requests) == 0 }

// Mapped returns the contention of a graph in which task id has the number to(id).
func (c *Contention) Mapped(to func(id int32) int32) Contention {
	out := Contention{
		Holds: slices.Clone(c.Holds), Offers: slices.Clone(c.Offers), Requests: slices.Clone(c.Requests)}
	for i := range out.Holds {
		h := &out.Holds[i]
		h.First, h.Last = to(h.First), to(h.Last)
	}
	for i := range out.Offers {
		o := &out.Offers[i]
		o.Task, o.Until = to(o.Task), to(o.Until)
	}
	for i := range out.Requests {
		out.Requests[i].Task = to(out.Requests[i].Task)
	}
	return out
}

// Roles of a task in a contention, as bits of a mask.
const (
	roleHolds    uint8 = 1 << iota // First of a hold: it waits for servers
	roleReleases                   // Last of a hold: it frees a server
	roleOffers                     // Task of an offer
	roleUntil                      // Until of an offer
	roleRequests                   // Task of a request

	anyRole uint8 = 0xff
)

// contentionIndex is the immutable index of a Contention that simulators use. Pairs of slices such
// as holdStart and hold are compressed sparse rows (package csr): the values of task i are
// hold[holdStart[i]:holdStart[i+1]].
type contentionIndex struct {
	role                    []uint8 // mask of roles, indexed by task
	listIndex               []int32 // first index in Holds, Offers or Requests, indexed by task
	holdStart, hold         []int32 // the servers that a task waits for
	releaseStart, release   []int32 // the servers that a task frees
	servers, patterns       int     // number of servers, and of different patterns
	pattern                 []int32 // the pattern of a request, indexed by task; -1 for other tasks
	acceptedStart, accepted []int32 // the patterns that accept an offer
	untilStart, until       []int32 // the offers whose requests end with a task
}

// pattern is the set of offers that a request accepts. Requests with equal patterns accept the same
// offers. A source or tag that is not compared is 0.
type pattern struct {
	box, source       int32
	tag               uint32
	anySource, anyTag bool
}

// newPattern returns a pattern that ignores the source, the tag, or both, if they are arbitrary.
func newPattern(box, source int32, tag uint32, anySource, anyTag bool) pattern {
	p := pattern{box: box, anySource: anySource, anyTag: anyTag}
	if !anySource {
		p.source = source
	}
	if !anyTag {
		p.tag = tag
	}
	return p
}

// index builds the index of c for graph g. It returns an error if a task does not exist, is
// not a compute task, or has roles that exclude each other. A request or offer must not be
// listed twice.
func (c *Contention) index(g *Graph) (*contentionIndex, error) {
	n := len(g.Tasks)
	x := &contentionIndex{
		role: make([]uint8, n), listIndex: make([]int32, n),
		pattern: slices.Repeat([]int32{-1}, n)}

	// addRole adds a role to a task that has no role in excluded.
	addRole := func(id int32, role, excluded uint8) error {
		switch {
		case id < 0 || int(id) >= n:
			return fmt.Errorf("engine: contention of task %d, which is not in the graph of %d tasks",
				id, n)
		case g.Tasks[id].Kind != Compute:
			return fmt.Errorf("engine: contention of %s, which is a transfer; want a compute task",
				g.Name(id))
		case x.role[id]&excluded != 0:
			return fmt.Errorf("engine: %s competes for several things at once", g.Name(id))
		}
		x.role[id] |= role
		return nil
	}

	// Number the different patterns of the requests.
	const starts = roleHolds | roleOffers | roleRequests // a task has only one of these roles
	patterns := map[pattern]int32{}
	for i, r := range c.Requests {
		if err := addRole(r.Task, roleRequests, anyRole); err != nil {
			return nil, err
		}
		x.listIndex[r.Task] = int32(i)
		p := newPattern(r.Box, r.Source, r.Tag, r.AnySource, r.AnyTag)
		k, ok := patterns[p]
		if !ok {
			k = int32(len(patterns))
			patterns[p] = k
		}
		x.pattern[r.Task] = k
	}
	x.patterns = len(patterns)

	// An offer is accepted by up to four patterns: with or without its source and its tag.
	var accepted, untils, holds, releases [][2]int32 // pairs of a task and a value of its row
	for i, o := range c.Offers {
		if err := addRole(o.Task, roleOffers, starts); err != nil {
			return nil, err
		}
		x.listIndex[o.Task] = int32(i)
		if err := addRole(o.Until, roleUntil, roleRequests); err != nil {
			return nil, err
		}
		untils = append(untils, [2]int32{o.Until, o.Task})
		for _, anySource := range []bool{false, true} {
			for _, anyTag := range []bool{false, true} {
				p := newPattern(o.Box, o.Source, o.Tag, anySource, anyTag)
				if k, ok := patterns[p]; ok {
					accepted = append(accepted, [2]int32{o.Task, k})
				}
			}
		}
	}

	// List the servers that a task waits for and that it frees. listIndex has the first hold of a
	// task.
	isListed := map[[2]int32]bool{}
	for i, h := range c.Holds {
		if h.First >= 0 && int(h.First) < n && x.role[h.First]&roleHolds == 0 {
			x.listIndex[h.First] = int32(i)
		}
		if err := addRole(h.First, roleHolds, roleOffers|roleRequests); err != nil {
			return nil, err
		}
		if err := addRole(h.Last, roleReleases, roleRequests); err != nil {
			return nil, err
		}
		key := [2]int32{h.Server, h.First}
		if h.Server < 0 || isListed[key] {
			return nil, fmt.Errorf("engine: %s holds server %d twice, or the server is negative",
				g.Name(h.First), h.Server)
		}
		isListed[key] = true
		x.servers = max(x.servers, int(h.Server)+1)
		holds, releases = append(holds, [2]int32{h.First, h.Server}), append(releases, [2]int32{h.Last, h.Server})
	}

	x.holdStart, x.hold = groupByFirst(holds, n)
	x.releaseStart, x.release = groupByFirst(releases, n)
	x.acceptedStart, x.accepted = groupByFirst(accepted, n)
	x.untilStart, x.until = groupByFirst(untils, n)
	return x, nil
}

// groupByFirst groups pairs by their first number: the second numbers of pairs with first number
// i are values[start[i]:start[i+1]].
func groupByFirst(pairs [][2]int32, n int) (start, values []int32) {
	slices.SortStableFunc(pairs, func(a, b [2]int32) int { return cmp.Compare(a[0], b[0]) })
	start = make([]int32, n+1)
	for _, p := range pairs {
		start[p[0]+1]++
		values = append(values, p[1])
	}
	for i := range n {
		start[i+1] += start[i]
	}
	return start, values
}

// fifo is a queue of task ids. The ids before head have been removed.
type fifo struct {
	ids  []int32
	head int
}

// push appends an id.
func (f *fifo) push(id int32) { f.ids = append(f.ids, id) }

// first returns the first id, -1 if the queue is empty.
func (f *fifo) first() int32 {
	if f.head == len(f.ids) {
		return -1
	}
	return f.ids[f.head]
}

// pop removes the first id.
func (f *fifo) pop() {
	if f.head++; f.head == len(f.ids) {
		f.ids, f.head = f.ids[:0], 0
	}
}

// ContentionState is the state of a contention in one simulation run. A simulator calls Arrive
// when a task becomes ready for which Decides returns true, and Ended when a task ends for which
// Involves returns true. It calls Resolve when no other event remains at that time.
type ContentionState struct {
	index *contentionIndex

	arrived        []int32 // tasks that became ready since the last Resolve
	changedServers []int32 // servers whose queue or state changed since the last Resolve
	cause          []int32 // see Trace.Cause; indexed by task

	queues  []fifo  // waiting tasks in the order in which they became ready, indexed by server
	isHeld  []bool  // whether a hold occupies the server, indexed by server
	freedBy []int32 // the task that freed it last, indexed by server; -1 if none did

	offers   []fifo  // arrived offers, indexed by pattern; offers with a partner are removed lazily
	requests []fifo  // ready requests without an offer, indexed by pattern
	order    []int64 // sequence number of a request among all ready requests, indexed by task
	partner  []int32 // the matched offer or request, indexed by task; -1 before the match
	sequence int64   // last number in order

	granted []int32 // scratch of Resolve
}

// NewContentionState returns the state before the start of a run of g, nil if g has no contention.
func (g *Graph) NewContentionState() *ContentionState {
	if g.contention == nil {
		return nil
	}
	x := g.contention
	n := len(x.role)

	c := &ContentionState{index: x, cause: make([]int32, n),
		queues: make([]fifo, x.servers), isHeld: make([]bool, x.servers),
		freedBy: make([]int32, x.servers),
		offers:  make([]fifo, x.patterns), requests: make([]fifo, x.patterns)}
	if x.patterns > 0 {
		c.order, c.partner = make([]int64, n), make([]int32, n)
	}
	c.Reset()
	return c
}

// Reset returns to the state before the start of a run.
func (c *ContentionState) Reset() {
	c.arrived, c.changedServers, c.sequence = c.arrived[:0], c.changedServers[:0], 0
	for i := range c.cause {
		c.cause[i] = -1
	}
	for i := range c.partner {
		c.partner[i] = -1
	}
	for i := range c.queues {
		c.queues[i] = fifo{ids: c.queues[i].ids[:0]}
		c.isHeld[i], c.freedBy[i] = false, -1
	}
	for i := range c.offers {
		c.offers[i], c.requests[i] = fifo{ids: c.offers[i].ids[:0]}, fifo{ids: c.requests[i].ids[:0]}
	}
}

// CopyFrom makes c equal to d. Both must belong to the same graph.
func (c *ContentionState) CopyFrom(d *ContentionState) {
	c.sequence = d.sequence
	c.arrived, c.changedServers = append(c.arrived[:0], d.arrived...), append(c.changedServers[:0], d.changedServers...)
	copy(c.cause, d.cause)
	copy(c.isHeld, d.isHeld)
	copy(c.freedBy, d.freedBy)
	copy(c.order, d.order)
	copy(c.partner, d.partner)
	for _, pair := range [][2][]fifo{{c.queues, d.queues}, {c.offers, d.offers}, {c.requests, d.requests}} {
		for i := range pair[0] {
			pair[0][i] = fifo{ids: append(pair[0][i].ids[:0], pair[1][i].ids...), head: pair[1][i].head}
		}
	}
}

// Involves reports whether a task has a role in the contention. The start and end of such a task
// must be simulated in order of time.
func (c *ContentionState) Involves(task int32) bool { return c.index.role[task] != 0 }

// Decides reports whether a task needs a grant after it has become ready.
func (c *ContentionState) Decides(task int32) bool {
	return c.index.role[task]&(roleHolds|roleOffers|roleRequests) != 0
}

// Arrive records that a task has become ready.
func (c *ContentionState) Arrive(task int32) { c.arrived = append(c.arrived, task) }

// Ended records the end of a task. It calls end for each request that ends with the task.
func (c *ContentionState) Ended(task int32, end func(request int32)) {
	x := c.index
	for _, s := range x.release[x.releaseStart[task]:x.releaseStart[task+1]] {
		c.isHeld[s], c.freedBy[s] = false, task
		c.changedServers = append(c.changedServers, s)
	}

	if x.role[task]&roleUntil == 0 {
		return
	}
	for _, offer := range x.until[x.untilStart[task]:x.untilStart[task+1]] {
		if r := c.partner[offer]; r >= 0 {
			c.cause[r] = task
			end(r)
		}
	}
}

// Pending reports whether Resolve has anything to decide.
func (c *ContentionState) Pending() bool { return len(c.arrived)+len(c.changedServers) > 0 }

// Resolve decides all grants at the current time and returns the tasks that start now, in order of
// id. The slice is valid until the next call. Requests are not returned, because they start and
// end with their offer.
func (c *ContentionState) Resolve() []int32 {
	x := c.index
	c.granted = c.granted[:0]
	slices.SortFunc(c.arrived, func(a, b int32) int { return cmp.Compare(x.listIndex[a], x.listIndex[b]) })

	// Requests and waiting tasks are queued before offers look for a request.
	for _, id := range c.arrived {
		switch role := x.role[id]; {
		case role&roleRequests != 0:
			c.request(id)
		case role&roleHolds != 0:
			for _, s := range x.hold[x.holdStart[id]:x.holdStart[id+1]] {
				c.queues[s].push(id)
				c.changedServers = append(c.changedServers, s)
			}
		}
	}

	for _, id := range c.arrived {
		if x.role[id]&roleOffers != 0 {
			c.offer(id)
		}
	}

	c.arrived = c.arrived[:0]
	for _, s := range c.changedServers {
		if id := c.queues[s].first(); id >= 0 && c.canStart(id) {
			c.grantServers(id)
		}
	}

	c.changedServers = c.changedServers[:0]
	slices.Sort(c.granted)
	return c.granted
}

// canStart reports whether a task can start: it is the first in the queue of each of its
// servers, and all of them are free.
func (c *ContentionState) canStart(id int32) bool {
	for _, s := range c.index.hold[c.index.holdStart[id]:c.index.holdStart[id+1]] {
		if c.isHeld[s] || c.queues[s].first() != id {
			return false
		}
	}
	return true
}

// grantServers grants a task all its servers.
func (c *ContentionState) grantServers(id int32) {
	for _, s := range c.index.hold[c.index.holdStart[id]:c.index.holdStart[id+1]] {
		c.queues[s].pop()
		c.isHeld[s] = true
		c.cause[id] = max(c.cause[id], c.freedBy[s])
	}
	c.granted = append(c.granted, id)
}

// request matches a request with the first offer that has arrived, or queues it. An offer
// waits under each pattern that accepts it. So the queue may begin with offers that have
// found a request of another pattern; these are removed here.
func (c *ContentionState) request(id int32) {
	c.sequence++
	c.order[id] = c.sequence
	p := c.index.pattern[id]
	for f := &c.offers[p]; ; f.pop() {
		o := f.first()
		if o < 0 {
			c.requests[p].push(id)
			return
		}
		if c.partner[o] < 0 {
			f.pop()
			c.match(o, id)
			c.cause[o] = id
			return
		}
	}
}

// offer matches an offer with the earliest request that accepts it, or queues it.
func (c *ContentionState) offer(id int32) {
	accepted := c.index.accepted[c.index.acceptedStart[id]:c.index.acceptedStart[id+1]]
	best := int32(-1)
	for _, p := range accepted {
		if r := c.requests[p].first(); r >= 0 && (best < 0 || c.order[r] < c.order[best]) {
			best = r
		}
	}
	if best < 0 {
		for _, p := range accepted {
			c.offers[p].push(id)
		}
		return
	}
	c.requests[c.index.pattern[best]].pop()
	c.match(id, best)
}

// match grants an offer and its request to each other.
func (c *ContentionState) match(offer, request int32) {
	c.partner[offer], c.partner[request] = request, offer
	c.granted = append(c.granted, offer)
}

// WaitReason returns the reason why a ready task has not started, for an error message.
func (c *ContentionState) WaitReason(task int32) string {
	switch role := c.index.role[task]; {
	case role&roleRequests != 0:
		return "a message that it accepts"
	case role&roleOffers != 0:
		return "a receive that accepts it"
	case role&roleHolds != 0:
		return "its turn"
	}
	return "others"
}

// Causes returns Trace.Cause of the run so far.
func (c *ContentionState) Causes() []int32 { return slices.Clone(c.cause) }

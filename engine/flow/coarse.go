package flow

import (
	"math"

	"sim/engine"
)

// coarseRun is the state of a run in which max-min shares are computed at least tolerance apart.
// Between two computations a transfer that starts waits, and the capacity of a transfer that ends is
// held: nobody uses it. No resource ever exceeds its capacity, so all bounds of exact runs hold.
//
// The run is the exact run of a perturbed instance. There, each start is delayed to the next
// computation, and each transfer is followed by a further one: it has the same resources and
// weight, begins at the end, and sends at the same rate until the next computation. Between two
// computations the transfers of each resource and their weights are then constant in the perturbed
// instance, and so are the exact rates. maxDelay, maxHeld and held state how large the
// perturbation is. They are no bound on the change of the time at which a transfer ends: if a few
// bits are left when many transfers share a link, sending them takes a long time.
//
// For 62,250 transfers of random starts through one switch of 250 nodes, a tolerance of 10 ns takes
// 4 % of the time.
type coarseRun struct {
	tolerance engine.Time // minimum time between two computations; 0 for exact runs
	sharedAt  engine.Time // time of the last computation
	isForced  bool        // a capacity changed, so that shares are computed at once
	waiting   []int32     // transfers that started since the last computation
	holds     []hold      // transfers that ended since the last computation

	maxDelay engine.Time // maximum delay of a start
	maxHeld  float64     // maximum bits for which a transfer holds its resources
	held     []float64   // sum of these bits times the weight of the use, indexed by resource
}

// hold is the capacity of a transfer that ended.
type hold struct {
	task  int32
	since engine.Time // end of the transfer
	rate  float64     // its last rate, in bits per tick
}

// reset starts a run of m with the given tolerance. It is limited to a quarter of the largest time,
// as in ceilTicks, so that adding it to the current time does not overflow.
func (c *coarseRun) reset(m *model, tolerance engine.Time) {
	tolerance = min(tolerance, math.MaxInt64/4)

	// sharedAt is such that the first computation is at time 0.
	*c = coarseRun{
		tolerance: tolerance, sharedAt: -tolerance, waiting: c.waiting[:0], holds: c.holds[:0], held: c.held,
	}
	if tolerance > 0 && c.held == nil {
		c.held = make([]float64, m.resources)
	}
	clear(c.held)
}

// nextSharing returns the time of the next computation of shares in a coarse run. It is Never if no
// resource changed, and in exact runs, which compute shares at each event.
func (z *sim) nextSharing() engine.Time {
	c := &z.coarse
	switch {
	case c.tolerance == 0 || len(z.dirty) == 0:
		return engine.Never
	case c.isForced:
		return z.now
	}
	return max(z.now, c.sharedAt+c.tolerance)
}

// shareCoarsely computes shares now, in a coarse run.
func (z *sim) shareCoarsely() {
	z.endHolds()
	z.coarse.sharedAt, z.coarse.isForced = z.now, false
	z.shareCapacity()
}

// endHolds ends all delays and holds now.
func (z *sim) endHolds() {
	c := &z.coarse
	for _, id := range c.waiting {
		c.maxDelay = max(c.maxDelay, z.now-z.updatedAt[id])
		z.updatedAt[id] = z.now
	}
	for _, h := range c.holds {
		bits := h.rate * float64(z.now-h.since)
		c.maxHeld = max(c.maxHeld, bits)
		for u := z.useStart[h.task]; u < z.useStart[h.task+1]; u++ {
			c.held[z.useRes[u]] += bits * z.useWeight[u]
		}
	}
	c.waiting, c.holds = c.waiting[:0], c.holds[:0]
}

// holdCapacity records the rate of a transfer that ends now, before it leaves its class. In a class, the
// rate is the level of the class times the weight of the transfer; z.rate is not maintained then.
func (z *sim) holdCapacity(id int32) {
	rate := z.rate[id]
	if s := &z.incremental.taskClasses; z.incremental.valid && s.bottleneck[id] >= 0 {
		rate = s.classes[s.bottleneck[id]].level * z.weight[id]
	}
	z.coarse.holds = append(z.coarse.holds, hold{id, z.now, rate})
}

// perturbation returns the perturbation of the last run, nil if it was exact.
func (z *sim) perturbation() *engine.Perturbation {
	c := &z.coarse
	if c.tolerance == 0 {
		return nil
	}
	p := &engine.Perturbation{Tolerance: c.tolerance, Delay: c.maxDelay, Bytes: c.maxHeld / 8}

	// Load is the maximum over all resources of the bits held on the resource, divided by the bits
	// that all transfers send over it.
	for r, held := range c.held {
		if held == 0 {
			continue
		}
		load := 0.0
		for _, u := range z.resUse[z.resStart[r]:z.resStart[r+1]] {
			load += z.bits[z.useTask[u]] * z.useWeight[u]
		}
		p.Load = max(p.Load, held/load)
	}
	return p
}

package trace

import (
	"fmt"
	"io"
	"slices"

	"sim/engine"
)

// WriteCM writes work that consists of transfers as a connection matrix of htsim. Each
// message is a flow. A flow that waits for one other has a oneshot trigger, a flow that
// waits for several a barrier.
//
// It fails if w does. It returns an UnwritableError if htsim cannot represent the work:
// if something is computed, or if a flow would start flows with different predecessors.
func (w *RankGraph) WriteCM(to io.Writer) error {
	g := w.Graph
	if !g.Contention.IsEmpty() {
		return errHasContention
	}

	type set struct{ flows []int32 } // a trigger: the flows that fire it

	var sets []set
	var src, dst []int32
	var bytes []int64
	var waits []int // trigger of each flow, from 1; 0 if none
	index := map[string]int{}
	before := make([][]int32, len(g.Tasks))
	fires := map[int32]int{}

	// Create the flows in the order of tasks. before lists the flows that end with each
	// task.
	for _, id := range g.Order() {
		t := &g.Tasks[id]

		// The flows that the task waits for, through tasks without data.
		var after []int32
		for _, e := range g.In(id) {
			if e.Lag > 0 {
				return unwritable("%s begins %v after %s, and htsim's flows begin at once; want GOAL or Chakra",
					g.Name(id), e.Lag, g.Name(e.From))
			}
			after = append(after, before[e.From]...)
		}

		slices.Sort(after)
		after = slices.Compact(after)

		if t.Kind == engine.Compute && t.Duration > 0 {
			return unwritable("%s computes, and htsim's flows do not; want GOAL or Chakra", g.Name(id))
		}

		var messages [][2]int32
		if t.Kind == engine.Transfer && t.Bytes > 0 {
			messages = w.messages(id)
		}

		if len(messages) == 0 {
			// A task without data passes its predecessors on.
			if before[id] = after; len(bytes)+len(after) > MaxWritten {
				return errTooMany
			}
			continue
		}

		trigger := 0
		if len(after) > 0 {
			// Flows with the same predecessors share a trigger.
			key := fmt.Sprint(after)
			if trigger = index[key]; trigger == 0 {
				sets = append(sets, set{flows: after})
				trigger = len(sets)
				index[key] = trigger
				for _, f := range after {
					// A flow of htsim fires only one trigger.
					if fires[f] > 0 {
						return unwritable("the flow from %d to %d starts flows that wait for different others, and htsim's fires one trigger; want GOAL or Chakra",
							src[f], dst[f])
					}
					fires[f] = trigger
				}
			}
		}

		for k, m := range messages {
			// The first messages have one byte more if the bytes are not divisible.
			size := t.Bytes / int64(len(messages))
			if int64(k) < t.Bytes%int64(len(messages)) {
				size++
			}
			if size > 0 {
				before[id] = append(before[id], int32(len(bytes)))

				src = append(src, m[0])
				dst = append(dst, m[1])
				bytes = append(bytes, size)
				waits = append(waits, trigger)
			}
		}

		if len(bytes) > MaxWritten {
			return errTooMany
		}
	}

	if len(bytes) == 0 {
		return unwritable("nothing is sent; want work that sends something")
	}

	// Write flows and triggers.
	b := newLimitWriter(to)

	// b stores the error for Flush.
	fmt.Fprintf(b, "Nodes %d\nConnections %d\n", w.Ranks, len(bytes))
	if len(sets) > 0 {
		fmt.Fprintf(b, "Triggers %d\n", len(sets))
	}

	for f := range bytes {
		fmt.Fprintf(b, "%d->%d id %d ", src[f], dst[f], f+1)
		if waits[f] > 0 {
			fmt.Fprintf(b, "trigger %d", waits[f])
		} else {
			fmt.Fprint(b, "start 0")
		}
		fmt.Fprintf(b, " size %d", bytes[f])
		if k := fires[int32(f)]; k > 0 {
			fmt.Fprintf(b, " recv_done_trigger %d", k)
		}
		if _, err := fmt.Fprintln(b); err != nil {
			return err
		}
	}

	for i, s := range sets {
		kind := "oneshot"
		if n := len(s.flows); n > 1 {
			kind = fmt.Sprintf("barrier count %d", n)
		}
		fmt.Fprintf(b, "trigger id %d %s\n", i+1, kind)
	}

	return b.Flush()
}

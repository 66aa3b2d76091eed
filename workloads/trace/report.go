package trace

import (
	"context"
	"fmt"
	"io"
	"strings"

	"sim/engine"
	"sim/engine/flow"
	"sim/engine/units"
)

// Report writes a summary of the job: ranks, groups, operations and bytes by kind,
// compute time per rank, notes, unmatched messages, and the critical path of the
// computations. It does not need a network, so it also reports jobs that cannot be built.
func (j *Job) Report(w io.Writer) error {
	// Count operations and bytes by kind, and the compute time of each program.
	type sum struct {
		ops   int
		bytes float64
	}

	var kinds [len(kindNames)]sum       // by OpKind
	var calls [len(collectiveNames)]sum // by Collective
	singles := 0                        // calls of groups of one rank
	minBusy, maxBusy := engine.Never, engine.Time(0)
	j.each(func(rank, times int, ops []Op) {
		var busy engine.Time
		for i := range ops {
			o := &ops[i]
			busy += o.Duration
			k := &kinds[o.Kind]
			if k.ops += times; o.Kind == Send {
				k.bytes += float64(times) * float64(o.Bytes)
			}
			if o.Kind == Call {
				// The bytes of a call are the bytes sent by its ranks.
				n := len(j.members(rank, o))
				c := &calls[o.Collective]
				c.ops += times
				c.bytes += float64(times) * float64(o.Collective.Wire(o.Bytes, n))
				if n == 1 {
					singles += times
				}
			}
		}

		minBusy = min(minBusy, busy)
		maxBusy = max(maxBusy, busy)
	})

	// Write the rows.
	var b strings.Builder
	row := func(name, format string, args ...any) {
		fmt.Fprintf(&b, "  %-16s %s\n", name, fmt.Sprintf(format, args...))
	}

	// Ranks and groups.
	const maxListedGroups = 20
	row("format", "%s", j.Format)
	row("ranks", "%d", j.Ranks)
	for i := range j.Groups {
		g := &j.Groups[i]

		// The sizes of the group's sets.
		small, large := len(g.Sets[0]), 0
		for _, s := range g.Sets {
			small = min(small, len(s))
			large = max(large, len(s))
		}
		size := fmt.Sprint(small)
		if large > small {
			size += fmt.Sprintf(" to %d", large)
		}
		row("group "+g.Name, "%d sets of %s ranks", len(g.Sets), size)
		if i+1 == maxListedGroups && len(j.Groups) > maxListedGroups {
			row("groups", "%d more", len(j.Groups)-maxListedGroups)
			break
		}
	}

	// Operations and calls by kind.
	for k, s := range kinds {
		switch {
		case s.ops == 0:
		case OpKind(k) == Send:
			row(OpKind(k).String(), "%d, %s", s.ops, Size(s.bytes))
		default:
			row(OpKind(k).String(), "%d", s.ops)
		}
	}

	for c, s := range calls {
		if s.ops > 0 {
			row(Collective(c).String(), "%d calls, %s sent by rings or straight", s.ops, Size(s.bytes))
		}
	}

	// Compute time, notes and problems.
	if minBusy == maxBusy {
		row("compute time", "%s a rank", units.ShortTime(maxBusy))
	} else {
		row("compute time", "%s to %s a rank", units.ShortTime(minBusy), units.ShortTime(maxBusy))
	}
	if singles > 0 {
		row("no traffic", "%d calls of groups of one rank", singles)
	}

	for _, n := range j.Notes {
		bytes := ""
		if n.Bytes > 0 {
			bytes = fmt.Sprintf(", %s", Size(float64(n.Bytes)))
		}
		row("note", "%s (%d%s)", n.Text, n.Count, bytes)
	}

	// Messages without a partner, or with different sizes at both ends. A job with a
	// single stage has no explicit messages.
	if j.Stage == nil {
		sends, recvs, _, err := j.match()
		if err != nil {
			row("unmatched", "%v", err)
		} else if len(sends) > 0 {
			row("unmatched", "none of %d messages", len(sends))
		}

		resized := 0
		for i, r := range recvs {
			if r.rank < 0 {
				continue // matched during the simulation
			}
			if sent, taken := j.op(sends[i].opRef).Bytes, j.op(r).Bytes; taken > 0 && taken != sent {
				resized++
			}
		}

		if resized > 0 {
			row("other sizes", "%d messages are received as of another size than they are sent, which counts",
				resized)
		}
	}

	if path, err := j.criticalPath(); err != nil {
		row("critical path", "%v", err)
	} else {
		row("critical path", "%s of computing, as if all else took no time", units.ShortTime(path))
	}
	_, err := io.WriteString(w, b.String())
	return err
}

// maxCriticalPathOps bounds the operations of a job whose critical path is computed, to
// limit the time of a report to seconds.
const maxCriticalPathOps = 2_000_000

// criticalPath returns the duration of the job if messages and calls take no time: the
// longest path of computations that wait for each other, through dependencies or on a
// stream.
func (j *Job) criticalPath() (engine.Time, error) {
	n := 0
	for _, ops := range j.Ops {
		n += len(ops)
	}
	if n > maxCriticalPathOps {
		return 0, fmt.Errorf("not sought, of %d operations", n)
	}

	built, err := j.Build(BuildOptions{})
	if err != nil {
		return 0, err
	}
	g, longest := built.Graph, engine.Time(0)

	// The order of operations on a stream depends on time, so such jobs are simulated, with
	// transfers that use no resource.
	if !g.Contention.IsEmpty() {
		t, err := flow.Run(context.Background(), g, &engine.Network{Nodes: int32(j.Ranks)},
			engine.NewRoutes(len(g.Tasks), nil), flow.Options{})
		if err != nil {
			return 0, err
		}
		return t.Makespan, nil
	}

	end := make([]engine.Time, len(g.Tasks))
	for _, id := range g.Order() {
		for _, e := range g.In(id) {
			end[id] = max(end[id], end[e.From])
		}
		end[id] += g.Tasks[id].Duration
		longest = max(longest, end[id])
	}

	return longest, nil
}

// Size formats bytes with four digits and a unit.
func Size(bytes float64) string {
	unit := 0
	for ; bytes >= 1000 && unit < 6; unit++ {
		bytes /= 1000
	}
	return fmt.Sprintf("%.4g %s", bytes, [...]string{"B", "KB", "MB", "GB", "TB", "PB", "EB"}[unit])
}

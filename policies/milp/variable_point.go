package milp

import (
	"fmt"
)

// This file converts between schedules and values of the columns of VariableIntervalModel. The
// columns have the symbols of DELTA, Sec. III-B:
//
//	x     number of circuits of a bundle; bits are its binary digits (Eq. 7)
//	t, d  boundaries and lengths of the intervals (Eq. 14)
//	rho   product of a binary digit and the length of an interval (Eq. 8)
//	y     1 if a task is active in an interval (Eq. 11)
//	s     1 if a task becomes active in an interval (Eq. 13)
//	u     data per flow, if flows share a link (Eq. 17)
//
// Further columns are sent, the data that a task sends in an interval, and the start and the end of
// each task. Steps have no column for the end (-1): a step ends at its start plus its duration.

// Schedule returns the schedule of a solution.
func (v *VariableIntervalModel) Schedule(values []float64) *Schedule {
	s := &Schedule{
		Makespan: values[v.makespan] * millisecond,
		Circuits: v.circuitCounts(values),
	}

	// A tick of the model is a millisecond.
	for _, t := range v.t {
		s.Times = append(s.Times, values[t]*millisecond)
	}
	for i := range v.in.Tasks {
		start := values[v.start[i]] * millisecond
		end := start + v.in.Tasks[i].Duration
		if v.end[i] >= 0 {
			end = values[v.end[i]] * millisecond
		}
		s.Start = append(s.Start, start)
		s.End = append(s.End, end)
		s.Sent = append(s.Sent, v.sentBits(i, values))
	}

	return s
}

// Point returns a schedule as a feasible point to start from. The schedule may have fewer
// intervals than the model; the others are empty and at the end.
func (v *VariableIntervalModel) Point(s *Schedule) ([]float64, error) {
	if len(s.Times) < 2 || len(s.Times) > len(v.t) || len(s.Circuits) != len(v.x) ||
		len(s.Start) != len(v.start) || len(s.Sent) != len(v.start) {
		return nil, fmt.Errorf("milp: a schedule of %d intervals and %d tasks for a model of %d and %d", len(s.Times)-1, len(s.Start), v.in.Intervals, len(v.start))
	}

	// Circuits, boundaries and lengths.
	p := make([]float64, len(v.Columns))
	p[v.makespan] = v.ticks(s.Makespan)
	for e, x := range s.Circuits {
		p[v.x[e]] = float64(x)
		for n, b := range v.bits[e] {
			p[b] = float64(x >> n & 1)
		}
	}

	for k := range v.t {
		p[v.t[k]] = v.ticks(s.Times[min(k, len(s.Times)-1)])
	}

	// rho is the product of the length of an interval and a binary digit of circuits.
	for k := range v.d {
		p[v.d[k]] = p[v.t[k+1]] - p[v.t[k]]
		for e := range v.rho {
			for n, r := range v.rho[e][k] {
				p[r] = p[v.d[k]] * p[v.bits[e][n]]
			}
		}
	}

	// Tasks: start, end, and activity in the intervals between them.
	for i := range v.in.Tasks {
		p[v.start[i]] = v.ticks(s.Start[i])
		if v.end[i] < 0 {
			continue
		}
		p[v.end[i]] = v.ticks(s.End[i])

		before := 0.0 // the flag active of the interval before
		for k := range min(v.in.Intervals, len(s.Times)-1) {
			// A task is active in an interval that lies within its start and end and has a
			// length. The flag active is 1 then.
			active := 0.0
			if s.Times[k] >= s.Start[i] && s.Times[k+1] <= s.End[i] &&
				s.Times[k+1] > s.Times[k] {
				active = 1
			}

			if !v.isActive(i, k) {
				if active == 1 {
					return nil, fmt.Errorf("milp: %s is active in interval %d, where the model has it idle", v.in.Tasks[i].Name, k+1)
				}
				before = 0
				continue
			}

			// s marks the first active interval after an idle one.
			p[v.y[i][k]], p[v.s[i][k]] = active, max(0, active-before)
			p[v.sent[i][k]] = s.Sent[i][k] / v.unit
			before = active
		}
	}

	// Data per flow on links that active tasks share.
	for l := range v.u {
		for k, u := range v.u[l] {
			for i := range v.in.Tasks {
				if t := &v.in.Tasks[i]; u >= 0 && t.Link == l && v.isActive(i, k) &&
					p[v.y[i][k]] == 1 {
					p[u] = p[v.sent[i][k]] / t.Flows
				}
			}
		}
	}

	return p, nil
}

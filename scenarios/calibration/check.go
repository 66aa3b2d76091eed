package calibration

// This file checks measurements against the machine that they were made on.

import (
	"fmt"
	"path"
	"strconv"

	"sim/fabric/machine"
	"sim/scenarios/accuracy"
	"sim/scenarios/schema"
)

// Select returns the rows that match one of the patterns of names, or all rows if there are no
// patterns, without the rows that must not be fitted. open is the number of these.
func Select(rows []*accuracy.Row, patterns []string) (selected []*accuracy.Row, open int, err error) {
	for _, r := range rows {
		matches := len(patterns) == 0
		for _, pattern := range patterns {
			m, err := path.Match(pattern, r.ID)
			if err != nil {
				return nil, 0, fmt.Errorf("%q is no pattern of names; write one such as C-H100-*", pattern)
			}
			matches = matches || m
		}
		switch {
		case matches && r.Fitted:
			selected = append(selected, r)
		case matches:
			open++
		}
	}
	return selected, open, nil
}

// MachineOf returns the name of the built-in profile of the machine that rows were measured on, or
// "" if no row names its hardware. Rows of two machines are an error.
func MachineOf(rows []*accuracy.Row) (string, error) {
	var first *accuracy.Row
	name := "" // of first
	for _, r := range rows {
		if r.Hardware == "" {
			continue
		}
		other, _, err := accuracy.MachineFor(r)
		if err != nil {
			other = strconv.Quote(r.Hardware)
		}
		if first == nil {
			first, name = r, other
		}
		if other != name {
			return "", fault(r.File, r.Line, fmt.Sprintf("was measured on %s, and %s:%d on %s", other, first.File, first.Line, name),
				"a profile describes one machine; choose rows by --rows, or calibrate each machine alone")
		}
	}
	return name, nil
}

// Complete sets the number of nodes of rows that do not state it, and checks that no row is faster
// than the links and the GPUs of the machine are. Its errors are of type schema.Diagnostics.
func Complete(rows []*accuracy.Row, p *machine.Profile) error {
	var faults schema.Diagnostics
	for _, r := range rows {
		if r.Nodes == 0 && r.GPUs > 0 {
			r.Nodes = (r.GPUs + p.GPUsPerNode - 1) / p.GPUsPerNode
		}
		gbps, limit, key := wireRate(r, p)
		// Data sheets round rates.
		const tolerance = 1.02
		if limit > 0 && gbps > limit*tolerance {
			faults = append(faults, schema.Diagnostic{File: r.File, Line: r.Line,
				Problem: fmt.Sprintf("sends at %.4g GB/s, and %s of %s allows %.4g GB/s", gbps, key, p.Name, limit),
				Remedy:  "state total sizes in bytes and times in us, or name the machine by --base"})
		}
	}
	if faults != nil {
		return faults.Sorted()[:1]
	}
	return nil
}

// wireRate returns the rate in GB/s at which a row's busiest link sends at least, the limit of this
// rate, and the key of the limit. Switches that add up data let an all-reduce send its size only
// once. The limit is 0 if the row has no such rate.
func wireRate(r *accuracy.Row, p *machine.Profile) (gbps, limit float64, key string) {
	collective := r.Parameters["collective"]
	size, err := r.Parameters.Number("size_bytes")
	if collective == "" || r.Unit != "us" || err != nil || r.GPUs < 2 || r.Nodes < 1 {
		return 0, 0, ""
	}
	n, nodes := float64(r.GPUs), float64(r.Nodes)
	rate := size / r.Value / 1e3 // GB/s
	inNode := float64(p.ScaleUp.Rate) / 8e9
	nics := float64(p.ScaleOut.Rate) * float64(p.ScaleOut.NICs) / 8e9 // of a node
	if r.Nodes == 1 {
		switch collective {
		case "all-gather", "reduce-scatter", "all-to-all":
			rate *= (n - 1) / n
		}
		return rate, inNode, "scale_up.rate"
	}
	switch collective {
	case "all-gather", "reduce-scatter":
		rate *= (nodes - 1) / nodes
	case "all-to-all":
		rate *= n / nodes * (nodes - 1) / nodes
	}
	return rate, nics, "scale_out.rate"
}

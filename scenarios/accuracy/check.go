package accuracy

import (
	"fmt"
	"math"

	"sim/fabric/machine"
	"sim/scenarios"
	"sim/scenarios/schema"
)

// Check returns the faults of rows that no measurement can have, as schema.Diagnostics: a size
// per rank in place of the total, and rates above the wire.
func Check(rows []*Row) error {
	var faults schema.Diagnostics
	for _, r := range rows {
		if problem, remedy := checkCall(r); problem != "" {
			faults = append(faults, schema.Diagnostic{File: r.File, Line: r.Line, Problem: problem, Remedy: remedy})
		}
	}
	if faults == nil {
		return nil
	}
	return faults.Sorted()
}

// checkCall returns the fault of the row of a collective call, and its remedy. The problem is empty
// without a fault.
func checkCall(r *Row) (problem, remedy string) {
	size, _ := r.Parameters.Number("size_bytes")
	factor, n := busFactor(r), float64(r.GPUs)
	if size == 0 || factor == 0 || r.Unit != "us" || !(r.Value > 0) {
		return "", ""
	}
	busGBps := size * factor / r.Value / 1e3

	// A stated bus bandwidth reveals sizes that are off by the number of ranks.
	if stated, err := r.Parameters.Number("busbw_GBps"); err == nil {
		const tolerance = 0.1
		if math.Abs(stated/busGBps/n-1) < tolerance {
			return fmt.Sprintf("size_bytes=%.0f is the size per rank: the bus bandwidth of %g GB/s follows from %d times that size", size, stated, r.GPUs),
				"write the total over all ranks, as nccl-tests does"
		}
	}

	// Reduction in the switches sends each byte once where a ring sends it twice.
	const maxInSwitch = 2
	name, _, err := MachineFor(r)
	if err != nil {
		return "", ""
	}
	if wire := fastestLink(scenarios.Machine(name)) / 1e9; busGBps > maxInSwitch*wire {
		return fmt.Sprintf("%.0f bytes in %g us are a bus bandwidth of %.0f GB/s, above the links of %s with %.0f GB/s", size, r.Value, busGBps, name, wire),
			"check that the time is in us and the size is the total in bytes"
	}
	return "", ""
}

// fastestLink returns the rate of the fastest link of a GPU in bytes per second.
func fastestLink(p *machine.Profile) float64 {
	const bitsPerByte = 8
	return float64(p.ScaleUp.Rate) / bitsPerByte
}

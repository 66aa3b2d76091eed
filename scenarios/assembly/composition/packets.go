// This file derives metrics and files from the packet statistics of a simulation.

package composition

import (
	"bytes"
	"strings"

	"sim/engine"
	"sim/engine/packet"
	"sim/scenarios/result"
)

// MeasurePackets adds the packet statistics of a simulation at level packet.
func (r *Result) MeasurePackets(row *result.Row) {
	s, m := r.Stats, row.Metrics
	m["injected"], m["delivered"] = float64(s.Injected), float64(s.Delivered)
	m["dropped"] = float64(s.Dropped)
	m["in_flight"], m["packet_hops"] = float64(s.InFlight()), float64(s.Hops)
	for cause, n := range s.DroppedBy {
		if n > 0 {
			name := strings.ReplaceAll(packet.Cause(cause).String(), " ", "_")
			m["dropped_"+name] = float64(n)
		}
	}
	if s.Retries > 0 {
		m["retries"] = float64(s.Retries)
	}

	if s.Transport != nil {
		r.measureMessages(row)
	}
	m["delivered_bytes_per_s"] = s.Throughput()
	queue := int32(0)
	for _, l := range s.Links {
		queue = max(queue, l.MaxQueue)
	}
	m["max_queue_packets"] = float64(queue)

	if s.Delay.Count > 0 {
		m["mean_delay_s"] = s.Delay.MeanSeconds()
		m["p50_delay_s"] = s.Delay.Quantile(0.5).Seconds()
		m["p99_delay_s"] = s.Delay.Quantile(0.99).Seconds()
		m["max_delay_s"] = s.Delay.Max.Seconds()
	} else {
		row.Labels["mean_delay_s"] = "no packet was delivered"
	}
}

// DescribePackets adds packet delays to sim. It returns CSV files of the links and, if
// queues were sampled, of their lengths.
func (r *Result) DescribePackets(sim *result.Simulation) []result.File {
	s, n := r.Stats, r.Packets.Network
	sim.Delay = DelayOf(s)

	var b bytes.Buffer // its writes never fail
	s.WriteLinks(&b, n)
	files := []result.File{{
		Name: "links-" + sim.Policy + ".csv",
		Data: bytes.Clone(b.Bytes()),
	}}
	if s.Transport != nil {
		sim.Messages = r.messageDistribution()
		files = append(files, r.messageFile(sim.Policy))
	}
	if s.SampleEvery > 0 {
		b.Reset()
		s.WriteQueues(&b, n)
		files = append(files, result.File{
			Name: "queues-" + sim.Policy + ".csv",
			Data: b.Bytes(),
		})
	}
	return files
}

// DelayOf returns the distribution of packet delays; nil if no packet arrived.
func DelayOf(s *packet.Stats) *result.Delay {
	d := &s.Delay
	if d.Count == 0 {
		return nil
	}
	out := &result.Delay{
		MeanS: d.MeanSeconds(),
		P50S:  d.Quantile(0.5).Seconds(),
		P99S:  d.Quantile(0.99).Seconds(),
		MaxS:  d.Max.Seconds(),
	}
	d.Histogram(func(from, to engine.Time, packets int64) {
		out.Bins = append(out.Bins, result.DelayBin{
			FromS:   from.Seconds(),
			ToS:     to.Seconds(),
			Packets: packets,
		})
	})
	return out
}

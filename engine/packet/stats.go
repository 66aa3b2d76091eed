package packet

// This file defines the statistics that Run and RunGraph return, and their checks.

import (
	"encoding/csv"
	"fmt"
	"io"
	"strconv"

	"sim/engine"
	"sim/internal/csvfield"
)

// Cause is the reason for the loss of a packet.
type Cause uint8

const (
	// QueueFull: the packet did not fit into the queue of its next link.
	QueueFull Cause = iota
	// LinkFailed: the packet was queued at or in flight on a link that failed, or arrived
	// at a link that was down.
	LinkFailed
	// NoRoute: after a Rewire, the paths had no next link for the packet.
	NoRoute
	// Trimmed: it did not fit, and its header told the receiver; see Transport.
	Trimmed
	// Corrupted: a bit error made it useless. Links repeat such packets by themselves unless
	// Transport is used.
	Corrupted
	numCauses
)

var causeNames = [numCauses]string{"queue full", "link failed", "no route", "trimmed", "corrupted"}

// String returns a description of the cause.
func (c Cause) String() string { return causeNames[c] }

// Stats holds the results of a run, apart from the trace of a task graph.
type Stats struct {
	Injected, Delivered int64            // packets
	Dropped             int64            // packets, for any cause
	DroppedBy           [numCauses]int64 // packets, indexed by Cause
	Bytes               int64            // delivered
	Hops                int64            // link traversals of all packets
	Retries             int64            // retransmissions because of bit errors
	End                 engine.Time      // time of the last simulated packet event or injection
	// Delay is measured from the injection to the arrival of the complete packet. It
	// covers the packets that were injected in the measured time and have been delivered.
	// MeasuredInjected counts all packets injected in the measured time, and
	// MeasuredDropped counts the dropped packets among them. MeasuredBytes counts the
	// bytes delivered in the measured time.
	Delay                             Delay
	MeasuredInjected, MeasuredDropped int64
	MeasuredBytes                     int64
	Links                             []LinkStats // indexed by link
	// Queues holds one sample per SampleEvery; the first one is taken SampleEvery after
	// time zero. A sample has one number per link, in the order of links: the packets
	// queued at or in flight on the link just before that time.
	Queues      []int32
	SampleEvery engine.Time
	Transport   *TransportStats // nil without a transport

	countedInFlight int64 // packets found in queues and on links at the end, for Check
}

// LinkStats holds the results of one link.
type LinkStats struct {
	Packets, Bytes int64       // that arrived at its far end
	Busy           engine.Time // total transmission time, including retransmissions
	MaxQueue       int32       // maximum number of packets queued or in flight, including the host queues of its node
	Waited         engine.Time // sum over all packets of the time from enqueueing to the start of transmission
	Dropped        int64       // packets lost in its queue or in flight
	Retries        int64       // retransmissions
	// MaxThrough is the maximum number of queued packets that came from other links. It
	// is computed only if Options.TaskRank or Options.Reference is set.
	MaxThrough int32
}

// countInjection counts a packet that is injected.
func (s *Stats) countInjection(z *sim, now engine.Time) {
	s.Injected++
	if now >= z.measureFrom && now < z.measureUntil {
		s.MeasuredInjected++
	}
}

// countDelivery counts a packet that arrives at its destination.
func (s *Stats) countDelivery(z *sim, inject, now engine.Time, bytes int64) {
	s.Delivered++
	s.Bytes += bytes
	if inject >= z.measureFrom && inject < z.measureUntil {
		s.Delay.add(now - inject)
	}
	if now >= z.measureFrom && now < z.measureUntil {
		s.MeasuredBytes += bytes
	}
}

// add adds the counts of another worker of the same run.
func (s *Stats) add(o *Stats) {
	s.Injected += o.Injected
	s.Delivered += o.Delivered
	s.Dropped += o.Dropped
	for i, n := range o.DroppedBy {
		s.DroppedBy[i] += n
	}
	s.Bytes += o.Bytes
	s.End = max(s.End, o.End)
	s.MeasuredInjected += o.MeasuredInjected
	s.MeasuredDropped += o.MeasuredDropped
	s.MeasuredBytes += o.MeasuredBytes
	s.Delay.merge(&o.Delay)
}

// InFlight returns the number of packets that have been neither delivered nor dropped.
func (s *Stats) InFlight() int64 { return s.Injected - s.Delivered - s.Dropped }

// Throughput returns the delivered bytes per second from time zero to End, or 0 if End is
// 0.
func (s *Stats) Throughput() float64 {
	if s.End == 0 {
		return 0
	}
	return float64(s.Bytes) / s.End.Seconds()
}

// Utilisation returns the fraction of the time up to End that a link was sending.
func (s *Stats) Utilisation(link int32) float64 {
	if s.End == 0 {
		return 0
	}
	return min(1, float64(s.Links[link].Busy)/float64(s.End))
}

// MeanQueue returns the time average of the number of packets queued at a link, without
// the packet being sent. It follows from Little's law.
func (s *Stats) MeanQueue(link int32) float64 {
	if s.End == 0 {
		return 0
	}
	return float64(s.Links[link].Waited) / float64(s.End)
}

// Check returns an error if packets or bytes are not conserved, which would be a bug of
// the engine.
func (s *Stats) Check() error {
	hops, dropped, retries, byCause := int64(0), int64(0), int64(0), int64(0)
	for _, l := range s.Links {
		hops += l.Packets
		dropped += l.Dropped
		retries += l.Retries
	}
	for _, k := range s.DroppedBy {
		byCause += k
	}

	switch {
	case s.InFlight() != s.countedInFlight:
		return fmt.Errorf("packet: %d injected, %d delivered, %d dropped, but %d in flight", s.Injected, s.Delivered, s.Dropped, s.countedInFlight)
	case hops != s.Hops || retries != s.Retries:
		return fmt.Errorf("packet: %d hops and %d retries in total, but %d and %d over all links", s.Hops, s.Retries, hops, retries)
	case byCause != s.Dropped || dropped+s.DroppedBy[NoRoute] != s.Dropped:
		return fmt.Errorf("packet: %d dropped in total, but %d by cause and %d at links", s.Dropped, byCause, dropped)
	}
	return nil
}

// WriteLinks writes a CSV file with one row per link and the columns link, from, to,
// packets, bytes, busy_s, utilisation, max_queue, mean_queue, dropped and retries.
func (s *Stats) WriteLinks(w io.Writer, n *engine.Network) error {
	c := csv.NewWriter(w)
	rows := [][]string{{"link", "from", "to", "packets", "bytes", "busy_s", "utilisation", "max_queue", "mean_queue", "dropped", "retries"}}
	for i, l := range s.Links {
		id := int32(i)
		rows = append(rows, csvfield.Safe(
			n.ResourceName(id), formatInt(n.Links[i].From), formatInt(n.Links[i].To), formatInt(l.Packets), formatInt(l.Bytes), formatFloat(l.Busy.Seconds()),
			formatFloat(s.Utilisation(id)), formatInt(l.MaxQueue), formatFloat(s.MeanQueue(id)), formatInt(l.Dropped), formatInt(l.Retries),
		))
	}
	return c.WriteAll(rows)
}

// WriteQueues writes a CSV file with the columns time_s, link and queue. It has one row
// per sample and link, without rows for empty links.
func (s *Stats) WriteQueues(w io.Writer, n *engine.Network) error {
	c := csv.NewWriter(w)
	if err := c.Write([]string{"time_s", "link", "queue"}); err != nil {
		return err
	}
	for i, depth := range s.Queues {
		if depth == 0 {
			continue
		}
		time := s.SampleEvery * engine.Time(i/len(s.Links)+1)
		if err := c.Write(csvfield.Safe(formatFloat(time.Seconds()), n.ResourceName(int32(i%len(s.Links))), formatInt(depth))); err != nil {
			return err
		}
	}
	c.Flush()
	return c.Error()
}

func formatInt[T int32 | int64](v T) string { return strconv.FormatInt(int64(v), 10) }

func formatFloat(v float64) string { return strconv.FormatFloat(v, 'g', -1, 64) }

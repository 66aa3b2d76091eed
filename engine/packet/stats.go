package packet

import (
	"encoding/csv"
	"fmt"
	"io"
	"strconv"

	"sim/engine"
	"sim/internal/csvfield"
)

// Cause is why a packet was dropped.
type Cause uint8

const (
	// QueueFull: it did not fit the queue of its next link.
	QueueFull Cause = iota
	// LinkFailed: its link failed while it was on it or before it, or was down.
	LinkFailed
	// NoRoute: the table led it no further after a Rewire.
	NoRoute
	numCauses
)

var causeNames = [numCauses]string{"queue full", "link failed", "no route"}

// String returns the cause in words.
func (c Cause) String() string { return causeNames[c] }

// Stats is what became of the packets.
type Stats struct {
	Injected, Delivered int64
	Dropped             int64            // for any cause
	DroppedBy           [numCauses]int64 // by Cause
	Bytes               int64            // delivered
	Hops                int64            // links passed by packets
	Retries             int64            // times that a packet was sent again for bit errors
	End                 engine.Time      // of the last packet or injection that was simulated
	// Delay is of the packets that were injected in the measured time and delivered, from injection to the whole
	// packet's arrival. MeasuredInjected and MeasuredDropped are what else was injected then; MeasuredBytes is what was
	// delivered then, whenever injected.
	Delay                             Delay
	MeasuredInjected, MeasuredDropped int64
	MeasuredBytes                     int64
	Links                             []LinkStats // by link
	// Queues has a sample each Options.SampleEvery, the first one that long after time zero: for every link in order,
	// the packets on it and before it just before that time.
	Queues      []int32
	SampleEvery engine.Time

	countedInFlight int64 // counted in queues and on links
}

// LinkStats is what a link carried.
type LinkStats struct {
	Packets, Bytes int64       // that arrived at its end
	Busy           engine.Time // that it was sending, retries included
	MaxQueue       int32       // packets on it and before it at once, those in the host queue of its node included
	Waited         engine.Time // sum over packets, from being put before it to being sent
	Dropped        int64       // before it or on it
	Retries        int64
	// MaxThrough is the packets that waited before it at once and had come from elsewhere, known where Options.TaskRank
	// is set.
	MaxThrough int32
}

// countInjection counts a packet that is injected.
func (s *Stats) countInjection(z *sim, now engine.Time) {
	s.Injected++
	if now >= z.measureFrom && now < z.measureUntil {
		s.MeasuredInjected++
	}
}

// countDelivery counts a packet that has arrived.
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

// add adds the counts of another part of the run.
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

// InFlight returns the packets that were neither delivered nor dropped.
func (s *Stats) InFlight() int64 { return s.Injected - s.Delivered - s.Dropped }

// Throughput returns delivered bytes a second from time zero to the end, 0 where no time passed.
func (s *Stats) Throughput() float64 {
	if s.End == 0 {
		return 0
	}
	return float64(s.Bytes) / s.End.Seconds()
}

// Utilisation returns the share of the time up to the end that a link was sending.
func (s *Stats) Utilisation(link int32) float64 {
	if s.End == 0 {
		return 0
	}
	return min(1, float64(s.Links[link].Busy)/float64(s.End))
}

// MeanQueue returns the time average of the packets that wait before a link, without the one being sent, by Little's
// law.
func (s *Stats) MeanQueue(link int32) float64 {
	if s.End == 0 {
		return 0
	}
	return float64(s.Links[link].Waited) / float64(s.End)
}

// Check fails where packets or bytes are not conserved: a fault of the engine.
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
		return fmt.Errorf("packet: %d hops and %d retries in all, %d and %d over the links", s.Hops, s.Retries, hops, retries)
	case byCause != s.Dropped || dropped+s.DroppedBy[NoRoute] != s.Dropped:
		return fmt.Errorf("packet: %d dropped in all, %d by cause, %d at links", s.Dropped, byCause, dropped)
	}
	return nil
}

// WriteLinks writes a CSV row for every link: name, from, to, packets, bytes, busy_s, utilisation, max_queue,
// mean_queue, dropped, retries.
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

// WriteQueues writes a CSV row for every sample and link that has packets on it or before it: time_s, link, queue.
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

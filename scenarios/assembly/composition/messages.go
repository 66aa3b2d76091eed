// This file measures messages under a transport.

package composition

import (
	"bytes"
	"encoding/csv"
	"slices"
	"strconv"

	"sim/engine"
	"sim/scenarios/result"
)

// messageTime is the time of a message, absolute and relative to its time alone.
type messageTime struct{ seconds, slowdown float64 }

// messageTimes returns the times of the messages that have ended.
func (r *Result) messageTimes() (all []messageTime) {
	for i := range r.Trace.End {
		if ideal := r.Stats.Transport.Messages[i].Ideal; ideal > 0 && r.Trace.End[i] != engine.Never {
			t := r.Trace.End[i] - r.Trace.Start[i]
			all = append(all, messageTime{t.Seconds(), float64(t) / float64(ideal)})
		}
	}
	return all
}

// measureMessages adds the counts of a transport, and the completion times of messages.
func (r *Result) measureMessages(row *result.Row) {
	s, m := r.Stats.Transport, row.Metrics
	m["resent"], m["trimmed"] = float64(s.Resent), float64(s.Trimmed)
	m["marked"], m["pauses"] = float64(s.Marked), float64(s.Pauses)
	if r.Trace == nil {
		return
	}
	all := r.messageTimes()
	if len(all) == 0 {
		return
	}

	times, slowdowns := make([]float64, len(all)), make([]float64, len(all))
	sum, sumSlow, sumRate, sumSquare := 0.0, 0.0, 0.0, 0.0
	for i, t := range all {
		times[i], slowdowns[i] = t.seconds, t.slowdown
		sum += t.seconds
		sumSlow += t.slowdown
		sumRate += 1 / t.slowdown
		sumSquare += 1 / t.slowdown / t.slowdown
	}
	slices.Sort(times)
	slices.Sort(slowdowns)
	n := float64(len(all))
	m["mean_message_s"], m["max_message_s"] = sum/n, times[len(times)-1]
	m["p50_message_s"], m["p99_message_s"] = quantile(times, 0.5), quantile(times, 0.99)
	m["mean_slowdown"], m["p99_slowdown"] = sumSlow/n, quantile(slowdowns, 0.99)
	// Jain's index of the rates of messages relative to their rates alone.
	m["fairness"] = sumRate * sumRate / (n * sumSquare)
}

// maxMessageBins is the number of completion times that a run stores.
const maxMessageBins = 1000

// messageDistribution returns the distribution of the completion times of messages; nil without
// any. Of more than maxMessageBins messages it has as many quantiles.
func (r *Result) messageDistribution() *result.Delay {
	if r.Trace == nil {
		return nil
	}
	var times []float64
	sum := 0.0
	for _, t := range r.messageTimes() {
		times = append(times, t.seconds)
		sum += t.seconds
	}
	if len(times) == 0 {
		return nil
	}
	slices.Sort(times)
	out := &result.Delay{
		MeanS: sum / float64(len(times)), P50S: quantile(times, 0.5), P99S: quantile(times, 0.99), MaxS: times[len(times)-1],
	}
	bins := min(len(times), maxMessageBins)
	for i := range bins {
		t := quantile(times, float64(i+1)/float64(bins))
		if k := len(out.Bins); k > 0 && out.Bins[k-1].FromS == t {
			out.Bins[k-1].Packets++
		} else {
			out.Bins = append(out.Bins, result.DelayBin{FromS: t, ToS: t, Packets: 1})
		}
	}
	return out
}

// quantile returns the smallest value that at least a share q of the sorted values does not
// exceed.
func quantile(sorted []float64, q float64) float64 {
	k := int(q * float64(len(sorted)))
	if float64(k) == q*float64(len(sorted)) {
		k--
	}
	return sorted[max(0, min(k, len(sorted)-1))]
}

// messageFile returns a CSV file with a row for each message.
func (r *Result) messageFile(policy string) result.File {
	var b bytes.Buffer
	c := csv.NewWriter(&b)
	c.Write([]string{"message", "from", "to", "bytes", "start_s", "end_s", "slowdown", "resent", "trimmed", "marked"})
	number := func(v float64) string { return strconv.FormatFloat(v, 'g', -1, 64) }
	for i := range r.Packets.Graph.Tasks {
		t, m := &r.Packets.Graph.Tasks[i], &r.Stats.Transport.Messages[i]
		if m.Ideal == 0 || r.Trace == nil {
			continue
		}
		start, end := r.Trace.Start[i], r.Trace.End[i]
		c.Write([]string{
			strconv.Itoa(i), strconv.Itoa(int(t.Src)), strconv.Itoa(int(t.Dst)), strconv.FormatInt(t.Bytes, 10),
			number(start.Seconds()), number(end.Seconds()), number(float64(end-start) / float64(m.Ideal)),
			strconv.Itoa(int(m.Resent)), strconv.Itoa(int(m.Trimmed)), strconv.Itoa(int(m.Marked)),
		})
	}
	c.Flush() // writes to a buffer never fail
	return result.File{Name: "messages-" + policy + ".csv", Data: b.Bytes()}
}

// This file reports the progress of a run.

package packet

import "sim/engine"

// newShare returns a function that returns the completed share of the run: of tasks, of the time
// in which sources inject, or of packet hops. It returns nil if the share is unknown.
func (z *sim) newShare(w *Work, g *engine.Graph) func() float64 {
	if g != nil {
		return func() float64 { return float64(z.tasks.numEnded) / float64(len(g.Tasks)) }
	}
	var end engine.Time
	for i := range w.Sources {
		end = max(end, w.Sources[i].Stop)
	}
	if end > 0 {
		return func() float64 { return float64(z.calendar.now) / float64(end) }
	}
	hops := w.hops()
	if hops == 0 {
		return nil
	}
	return func() float64 {
		sent := int64(0)
		for i := range z.scheduled {
			sent += z.scheduled[i].numPackets - int64(z.scheduled[i].queue.length)
		}
		for i := range z.queued {
			sent += z.queued[i].packets
		}
		if z.components != nil { // scheduled links have the state before the windows
			inWindows := int64(0)
			for i := range z.components.links {
				inWindows += int64(z.components.links[i].head)
			}
			sent = max(sent, inWindows)
		}
		return float64(sent) / hops
	}
}

// maxSampledFlows limits the flows whose paths are measured for the progress, to a millisecond.
const maxSampledFlows = 1 << 16

// hops estimates the number of hops of all packets of sources with a count, from a sample of
// flows. It is 0 if packets follow no paths.
func (w *Work) hops() (sum float64) {
	if w.Paths.Spread != nil {
		return 0
	}
	// The stride is odd, so that it fits no period of a network with sides of powers of two.
	stride := int32(len(w.Flows)/maxSampledFlows | 1)
	for i := range w.Sources {
		s := &w.Sources[i]
		hops, flows := 0.0, 0.0
		for f := s.First; f < s.End; f += stride {
			flows++
			class := w.Paths.ClassOf(f)
			for path, end := w.Paths.Of(class); path < end; path++ {
				if w.Paths.Start[path] >= 0 {
					hops += w.Paths.ShareOf(class, path) * float64(len(w.Paths.Steps(path)))
				}
			}
		}
		if flows > 0 {
			sum += float64(s.Count) * float64(s.End-s.First) * hops / flows
		}
	}
	return sum
}

// reportProgress calls Options.Progress with the completed share.
func (z *sim) reportProgress() {
	if z.share != nil {
		z.options.Progress(min(z.share(), 1))
	}
}

package packet_test

import (
	"errors"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"sim/engine"
	"sim/engine/packet"
)

const us = engine.Microsecond

// lineNetwork returns nodes in a row with a link from each to the next. A packet of 1,000
// B takes 1 us on a link.
func lineNetwork(hops int, template engine.Link) *engine.Network {
	n := &engine.Network{Nodes: int32(hops + 1)}
	template.Rate = 8e9
	for i := range int32(hops) {
		template.From, template.To = i, i+1
		n.Links = append(n.Links, template)
	}
	return n
}

// runLog is packet.RunLog for runs that must not fail.
func runLog(t *testing.T, n *engine.Network, w *packet.Work, o packet.Options) (*packet.Stats, []packet.PacketEnd) {
	t.Helper()
	s, log, err := packet.RunLog(n, w, o)
	if err != nil {
		t.Fatal(err)
	}
	return s, log
}

// TestMeanDelayByRank: the mean delays of two classes of Poisson arrivals at one link
// agree with Cobham's formula (1954) for non-preemptive priorities. The waiting time of
// class k is W_k = W0 / ((1-a_{k-1}) (1-a_k)). Here W0 = (rho1+rho2) s/2, s is the
// service time, and a_k is the load of the classes up to k. Each packet is a transfer
// that follows a compute which ends at its arrival time.
func TestMeanDelayByRank(t *testing.T) {
	n := lineNetwork(1, engine.Link{})
	rho := [2]float64{0.3, 0.4}
	g, rng := &engine.Graph{}, rand.New(rand.NewPCG(3, 0))
	var ranks []int32
	for k := range rho {
		time := 0.0
		for range int(rho[k] * 5e5) {
			time += rng.ExpFloat64() * float64(us) / rho[k]
			delay := g.AddTask(engine.Task{Duration: engine.Time(time)})
			g.AddEdge(delay, g.AddTask(engine.Task{Kind: engine.Transfer, Dst: 1, Flows: 1, Bytes: 1000}), 0)
			ranks = append(ranks, int32(k), int32(k))
		}
	}
	if err := g.Freeze(); err != nil {
		t.Fatal(err)
	}
	w := pathsOver(n, nil, []int32{0})
	trace, _, err := packet.RunGraph(g, n, w.Flows, w.Paths, 1000, packet.Options{TaskRank: ranks})
	if err != nil {
		t.Fatal(err)
	}

	var sum, count [len(rho)]float64
	for i, k := range ranks {
		if g.Tasks[i].Kind == engine.Transfer {
			sum[k] += float64(trace.End[i] - trace.Start[i])
			count[k]++
		}
	}
	w0, below := (rho[0]+rho[1])*float64(us)/2, 0.0
	for k := range rho {
		want := float64(us) + w0/((1-below)*(1-below-rho[k]))
		below += rho[k]
		if got := sum[k] / count[k]; math.Abs(got/want-1) > 0.02 {
			t.Errorf("class %d: mean delay %g ticks, want %g", k, got, want)
		}
	}
}

// TestDropTail compares drops with results computed by hand. A link has space for 3
// packets and sends one per microsecond. Packet k of 12 arrives at k/3 us. Packets 0, 1,
// 2, 3, 6 and 9 are accepted. One packet leaves at each full microsecond, and its space
// is free for a packet that arrives at that time.
func TestDropTail(t *testing.T) {
	n := lineNetwork(1, engine.Link{Buffer: 3000})
	w := pathsOver(n, []packet.Source{{End: 1, Bytes: 1000, Count: 12, Every: float64(us) / 3}}, []int32{0})
	s, log := runLog(t, n, w, packet.Options{})
	var accepted []int
	for _, a := range log {
		if k := int(math.Round(float64(a.Inject) / float64(us) * 3)); !a.Dropped {
			if accepted = append(accepted, k); a.At != us*engine.Time(len(accepted)) {
				t.Errorf("packet %d leaves at %v", k, a.At)
			}
		}
	}
	if want := []int{0, 1, 2, 3, 6, 9}; !slices.Equal(accepted, want) {
		t.Errorf("kept %v, want %v", accepted, want)
	}
	if s.Dropped != 6 || s.DroppedBy[packet.QueueFull] != 6 || s.Links[0].Dropped != 6 || s.Links[0].MaxQueue != 3 {
		t.Errorf("%+v", s)
	}
}

// TestMD1K: the loss of Poisson arrivals at a link with space for K packets agrees with
// M/D/1/K. The loss is 1 - 1/(pi0+rho), where pi is the stationary distribution of the
// embedded Markov chain at departures.
func TestMD1K(t *testing.T) {
	const k, rho = 4, 0.9
	arrivals := func(j int) float64 { // probability of j arrivals during a service
		p := math.Exp(-rho)
		for i := range j {
			p *= rho / float64(i+1)
		}
		return p
	}
	pi := make([]float64, k) // packets left behind by a departure, up to a factor; the chain is skip-free downwards
	pi[0] = 1
	for i := 0; i+1 < k; i++ {
		next := pi[i] - pi[0]*arrivals(i)
		for j := 1; j <= i; j++ {
			next -= pi[j] * arrivals(i-j+1)
		}
		pi[i+1] = next / arrivals(0)
	}

	sum := 0.0
	for _, p := range pi {
		sum += p
	}
	want := 1 - 1/(pi[0]/sum+rho)

	n := lineNetwork(1, engine.Link{Buffer: k * 1000})
	w := pathsOver(n, []packet.Source{{End: 1, Process: packet.Poisson, Bytes: 1000, Count: 1_000_000, Every: float64(us) / rho, Seed: 5}}, []int32{0})
	s, _ := runLog(t, n, w, packet.Options{})
	if got := float64(s.Dropped) / float64(s.Injected); math.Abs(got/want-1) > 0.02 {
		t.Errorf("a share of %g is lost, want %g", got, want)
	}
}

// TestWindow: a flow with a window of W packets of 1 us sends W packets per round trip,
// and at most one packet per microsecond. The round trip is 3+6+5 us: three
// transmissions, three latencies of 2 us, and an acknowledgement delay of 5 us.
func TestWindow(t *testing.T) {
	for _, served := range []bool{false, true} {
		for _, window := range []int32{1, 5, 14, 40} {
			n := lineNetwork(3, engine.Link{Latency: 2 * us})
			const count = 2000
			w := pathsOver(n, []packet.Source{{End: 1, Process: packet.Window, Window: window, Ack: 5 * us, Bytes: 1000, Count: count}}, []int32{0, 1, 2})
			o := packet.Options{}
			if served {
				o = packet.ForceQueues(o)
			}
			s, _ := runLog(t, n, w, o)
			want := 14*us*engine.Time((count-1)/int(window)) + 9*us + us*engine.Time((count-1)%int(window))
			if window > 14 {
				want = count*us + 8*us
			}
			if s.End != want+5*us { // the last acknowledgement
				t.Errorf("window %d, served %t: ends at %v, want %v", window, served, s.End, want+5*us)
			}
		}
	}
}

// TestRetry: on a link with latency 3 us, a packet of 1 us needs 1/(1-p) transmissions on
// average, where p is its error probability. Each retransmission takes an additional
// round trip of 6 us.
func TestRetry(t *testing.T) {
	n := lineNetwork(1, engine.Link{Latency: 3 * us})
	const count, rate = 400_000, 5e-5
	p := 1 - math.Pow(1-rate, 8000)
	w := pathsOver(n, []packet.Source{{End: 1, Bytes: 1000, Count: count}}, []int32{0})
	s, log := runLog(t, n, w, packet.Options{BitErrorRate: rate, Seed: 1})
	tries := 1 / (1 - p)
	want := (tries + 6*(tries-1)) * count * float64(us)
	if got := float64(s.End - 3*us); math.Abs(got/want-1) > 0.01 {
		t.Errorf("ends after %g ticks, want %g", got, want)
	}
	if got := float64(s.Retries) / count; math.Abs(got/(tries-1)-1) > 0.01 || s.Links[0].Retries != s.Retries || s.Delivered != count {
		t.Errorf("%g retries a packet, want %g", got, tries-1)
	}
	if s.Links[0].Busy != us*engine.Time(count+s.Retries) || !slices.IsSortedFunc(log, func(a, b packet.PacketEnd) int { return int(a.At - b.At) }) {
		t.Errorf("busy for %v with %d retries", s.Links[0].Busy, s.Retries)
	}

	// The variance of the number of transmissions is p/(1-p)^2.
	var sum, squares float64
	for i, a := range log {
		previous := engine.Time(0)
		if i > 0 {
			previous = log[i-1].At - 3*us
		}
		k := float64(a.At-3*us-previous-us)/float64(7*us) + 1
		sum, squares = sum+k, squares+k*k
	}
	mean := sum / count
	if got, want := squares/count-mean*mean, p/((1-p)*(1-p)); math.Abs(got/want-1) > 0.02 {
		t.Errorf("tries have a variance of %g, want %g", got, want)
	}
}

// TestCreditThroughput: a link with a latency of 10 us and 1 us per packet transfers one
// buffer per round trip, and at most its rate. The round trip is 1+10+1+10 us:
// transmission, latency, transmission over the next link, and return of the credit. A
// Buffer of 0 suffices for the full rate.
func TestCreditThroughput(t *testing.T) {
	for _, packets := range []int64{1, 5, 11, 22, 30, 0} {
		n := lineNetwork(2, engine.Link{Latency: 10 * us})
		n.Links[0].Buffer = 1000 * packets
		const count = 22_000
		w := pathsOver(n, []packet.Source{{End: 1, Process: packet.Greedy, Order: packet.Sequential, Bytes: 1000, Count: count}}, []int32{0, 1})
		s, _ := runLog(t, n, w, packet.Options{Control: packet.Credit})
		want := float64(count) * float64(us)
		if packets > 0 && packets < 22 {
			want *= 22 / float64(packets)
		}
		if got := float64(s.End); math.Abs(got/want-1) > 0.002 {
			t.Errorf("a buffer of %d packets moves %d in %g ticks, want %g", packets, count, got, want)
		}
		if s.Dropped != 0 || s.Delivered != count {
			t.Errorf("%d delivered, %d dropped", s.Delivered, s.Dropped)
		}
	}
}

// ringNetwork returns four nodes in a ring, with flows over two links each. With a
// dateline, packets change to channel 1 after the link from node 3.
func ringNetwork(channels int32, dateline bool) (*engine.Network, *packet.Work) {
	n := &engine.Network{Nodes: 4}
	for i := range int32(4) {
		n.Links = append(n.Links, engine.Link{From: i, To: (i + 1) % 4, Rate: 8e9, Channels: channels, Buffer: 1000})
	}
	n.ResourceNamer = func(i int32) string { return "link " + string(rune('a'+i)) }
	w := &packet.Work{Paths: portsOf(n), Sources: []packet.Source{{End: 4, Bytes: 1000, Count: 10}}}
	for i := range int32(4) {
		channel := 0
		if dateline && i == 3 {
			channel = 1
		}
		w.Paths.Add(stepOver(n, w.Paths, i, 0), stepOver(n, w.Paths, (i+1)%4, channel))
		w.Flows = append(w.Flows, engine.Flow{Src: i, Dst: (i + 2) % 4})
	}
	return n, w
}

// TestDeadlock: buffers of one packet on a ring of four nodes deadlock, and the error
// names the cycle. With a second channel and a dateline, all packets are delivered.
// CheckChannels agrees in both cases.
func TestDeadlock(t *testing.T) {
	n, w := ringNetwork(1, false)
	_, err := packet.Run(n, w, packet.Options{Control: packet.Credit})
	var d *packet.Deadlock
	if !errors.As(err, &d) {
		t.Fatal(err)
	}
	if len(d.Cycle) != 4 || d.Waiting != 40 || !strings.Contains(err.Error(), "link a vc0 -> link b vc0 -> link c vc0 -> link d vc0 -> link a vc0") {
		t.Errorf("%v", err)
	}
	if c, err := packet.CheckChannels(t.Context(), n, w.Paths, w.Flows); err != nil || len(c) != 4 {
		t.Errorf("%v %v", c, err)
	}
	n, w = ringNetwork(2, true)
	s, err := packet.Run(n, w, packet.Options{Control: packet.Credit})
	if err != nil || s.Delivered != 40 {
		t.Fatalf("%+v %v", s, err)
	}
	if c, err := packet.CheckChannels(t.Context(), n, w.Paths, w.Flows); err != nil || c != nil {
		t.Errorf("%v %v", c, err)
	}

	// Two channels without a dateline deadlock as well.
	if n, w = ringNetwork(2, false); true {
		if _, err = packet.Run(n, w, packet.Options{Control: packet.Credit}); !errors.As(err, &d) {
			t.Error(err)
		}
	}
}

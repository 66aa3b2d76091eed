package scenarios

import (
	"fmt"
	"math"
	"slices"

	"sim/engine"
	"sim/scenarios/result"
)

// unserved is the answer of a router that cannot serve the fabric for some reason.
// Beside others it has a row that says so; alone it is a fault of the input.
func (r *routed) unserved(name string, why error) (answer, error) {
	if len(r.s.Policy.Routers) > 1 {
		return unserved{result.Row{Policy: name, Metrics: map[string]float64{}, Labels: map[string]string{"unserved": why.Error()}}}, nil
	}
	return nil, r.fault("policy.routers", name+": "+why.Error(), `choose another router, such as "shortest", or add others, which then go on`)
}

// fault is what only routes show to be wrong with a scenario.
func (r *routed) fault(key, what, want string) error {
	return Faults{{File: r.s.Name, Key: key, What: what, Want: want}}
}

// channels fails where ways take more virtual channels than links have.
func (a *routedAnswer) channels(needed int) error {
	l := &a.r.s.Fabric.Links
	if a.r.s.Engine.Level != "packet" || l.Queue != "credit" || needed <= l.Channels {
		return nil
	}
	return fmt.Errorf("its ways take %d virtual channels and links have %d: set fabric.channels = %d", needed, l.Channels, needed)
}

// bearable fails where playing the traffic would take more time than is simulated,
// or more hops of packets or samples of queues than anybody waits for.
func (a *routedAnswer) bearable(name string) error {
	s := a.r.s
	if s.Engine.Level == "static" {
		return nil
	}
	w := &s.Workload.Traffic
	packets, seconds := a.injected()
	for _, q := range []struct {
		of, key, want string
	}{
		{"paced", "workload.pace", "choose a higher pace, smaller messages or faster links"},
		{"", "workload.message", "choose smaller messages, faster links or less latency"},
	} {
		if most := longestPlay.Seconds(); seconds > most && (q.of == "" || q.of == w.Source && w.Pace < 1 && !slices.Contains(ringKinds, s.Workload.Kind)) {
			return a.r.fault(q.key, fmt.Sprintf("%s takes %.3g s of simulated time", name, seconds), fmt.Sprintf("%s, for at most %.0f s", q.want, most))
		}
	}
	if s.Engine.Level != "packet" {
		return nil
	}
	hops := packets * a.meanHops()
	links := float64(len(a.r.whole.Links))
	if until := s.Engine.Until.Seconds(); until > 0 {
		seconds = min(seconds, until)
		hops = min(hops, a.throughput()*until)
	}
	if hops > mostHopped {
		key := "workload.packet"
		switch {
		case w.Source == "poisson":
			key = "workload.duration"
		case w.Source == "on-off":
			key = "workload.rate"
		}
		return a.r.fault(key, fmt.Sprintf("%s makes about %.2g packets take %.2g hops", name, packets, hops), fewerHops(s))
	}
	if every := s.Engine.SampleEvery.Seconds(); every > 0 && seconds/every*links > mostSamples {
		return a.r.fault("engine.sample_every", fmt.Sprintf("%s has %.2g lengths of queues to keep, of %.0f links over some %.3g s", name, seconds/every*links, links, seconds),
			fmt.Sprintf("choose at least %.2gs, for %d", seconds*links/mostSamples, mostSamples))
	}
	return nil
}

// injected returns about how many packets are injected, and for how many seconds at
// least they are on their way.
func (a *routedAnswer) injected() (packets, seconds float64) {
	r := a.r
	w := &r.s.Workload.Traffic
	payload := float64(w.Payload)
	packet := r.s.packetTime() / float64(engine.Second) // seconds on a link
	way := float64(a.loads.MaxHops) * r.s.Fabric.LinkLatency.Seconds()
	if r.load.graph != nil {
		bytes := 0.0
		for i := range r.load.graph.Tasks {
			if b := r.load.graph.Tasks[i].Bytes; b > 0 {
				bytes += float64(b)
				packets += math.Ceil(float64(b) / float64(w.Packet))
			}
		}
		return packets, a.fluid(float64(r.load.parts[0].traffic.Message)) + r.s.Fabric.LinkLatency.Seconds()*a.steps()
	}
	for i := range r.load.parts {
		p := &r.load.parts[i]
		flows := float64(p.end - p.first)
		switch w.Source {
		case "on-off":
			for _, s := range r.onOff(p) {
				packets += flows * float64(s.Count)
				seconds = max(seconds, (float64(s.Start)+s.Every*float64(s.Count-1))/float64(engine.Second))
			}
		case "poisson":
			seconds = w.Warmup.Seconds() + w.Duration.Seconds()
			packets += float64(r.live()) * seconds * w.Load / packet
		default:
			message := float64(p.traffic.Message)
			total := float64(p.traffic.Total())
			packets += total/payload + flows
			seconds = a.fluid(message)
			if w.Source == "paced" && r.s.Engine.Level == "packet" {
				seconds /= w.Pace
			}
		}
	}
	return packets, seconds + way
}

// fluid returns the seconds that the link that takes longest is busy with messages
// of so many bytes.
func (a *routedAnswer) fluid(message float64) float64 {
	return a.pressed * message * 8 / float64(a.r.s.Fabric.LinkRate)
}

// steps returns the transfers of a ring collective that wait for each other, at
// most.
func (a *routedAnswer) steps() float64 {
	n := 0.0
	if d := a.r.torus.Dims; a.r.s.Workload.Rings == "one" {
		n = float64(a.r.torus.Nodes())
	} else {
		for _, size := range d {
			n += float64(size)
		}
	}
	return 2 * n * max(1, float64(a.loads.MaxHops))
}

// meanHops returns the links of a way, on average over messages.
func (a *routedAnswer) meanHops() float64 {
	hops := float64(a.loads.SumHops)
	if a.loads.Weighted != nil {
		hops = a.loads.WeightedHops
	}
	return hops / a.r.messages()
}

// throughput returns the packets that all links together can carry in a second.
func (a *routedAnswer) throughput() float64 {
	sum := 0.0
	for _, l := range a.r.whole.Links {
		sum += l.Rate / 8 / float64(a.r.s.Workload.Packet)
	}
	return sum
}

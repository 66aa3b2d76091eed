// This file checks [transport]: how hosts control their packets.

package scenarios

// checkTransport checks the keys of a transport against the fabric and against each other.
// engine/packet checks sizes against packets when it runs.
func checkTransport(c *checker) {
	t, f := &c.s.Transport, &c.s.Fabric
	if !t.IsUsed() || !c.OK("transport", "fabric") {
		return
	}
	packet := c.s.Workload.Packet
	c.conflictIf(f.Queue == "credit", "transport.kind fabric.queue",
		`credits lose no packet, so that hosts have nothing to repeat; set fabric.queue to a size, or transport.overflow = "pause" for a lossless network`)
	c.conflictIf(t.Overflow == "trim" && f.Queue == "unbounded", "transport.overflow fabric.queue",
		`an unbounded queue is never full; set fabric.queue, such as "40p"`)
	c.conflictIf(t.Overflow == "pause" && f.Queue != "unbounded" && f.Queue != "credit", "fabric.queue transport.overflow",
		`switches pause at transport.pause_at and lose nothing; leave fabric.queue out`)
	c.conflictIf(t.Kind == "rccc" && t.Recovery == "go-back-n", "transport.recovery transport.kind",
		"receivers grant credit for single packets; leave transport.recovery out")
	const noTime = `a timer cannot pass without time; write more than "0s"`
	c.conflictIf(t.Kind == "dcqcn" && t.DCQCN.AlphaPeriod <= 0, "transport.dcqcn.alpha_period", noTime)
	c.conflictIf(t.Kind == "dcqcn" && t.DCQCN.TimerPeriod <= 0, "transport.dcqcn.timer_period", noTime)
	c.conflictIf(packet <= t.Header, "transport.header workload.packet",
		"packets of %s have no room for data after a header of %s; choose larger packets", packet, t.Header)
	c.conflictIf(t.Window > 0 && t.Window < packet, "transport.window workload.packet",
		"a window of %s is below one packet of %s; write at least one packet", t.Window, packet)
	c.conflictIf(t.MarkMin > t.MarkMax && t.MarkMax > 0, "transport.mark_min transport.mark_max",
		"packets are marked above %s, but all of them from %s; write mark_min of at most mark_max", t.MarkMin, t.MarkMax)
	c.conflictIf(t.ResumeAt > t.PauseAt && t.PauseAt > 0, "transport.resume_at transport.pause_at",
		"a link that pauses at %s cannot resume at %s; write resume_at of at most pause_at", t.PauseAt, t.ResumeAt)
	c.conflictIf(t.SharedBuffer > 0 && (t.PauseAt > 0 || t.ResumeAt > 0), "transport.pause_at transport.shared_buffer",
		"a shared buffer sets the thresholds of pauses by buffer_share; leave pause_at and resume_at out")
	c.conflictIf(t.Headroom > 0 && t.Headroom < 2*packet, "transport.headroom workload.packet",
		"a headroom of %s does not hold the packets that arrive after a pause; write at least two packets of %s", t.Headroom, packet)
}

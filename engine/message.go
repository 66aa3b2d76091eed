// This file models the overhead of messages: the time for which the start of a message occupies its
// source node.

package engine

import "slices"

// IsMessage reports whether a task is a message: a transfer of at least one byte. Its start takes
// Graph.MessageOverhead.
func (g *Graph) IsMessage(id int32) bool {
	return g.Tasks[id].Kind == Transfer && g.Tasks[id].Bytes > 0
}

// MessageStarts is a graph in which compute tasks model the message overhead.
type MessageStarts struct {
	Graph   *Graph  // the graph with start tasks
	Tasks   int     // number of tasks of the original graph; start tasks have larger ids
	StartOf []int32 // the start task of a message, indexed by original task; -1 for other tasks

	contended bool // the original graph has a contention
}

// WithMessageStarts models the message overhead of g by explicit tasks. Each message gets a
// start task, which lasts for the overhead and occupies the source node of the message. The
// predecessors of the message become predecessors of its start task. The tasks of g keep their
// ids, and start tasks follow them. It returns nil if g has no message overhead. g must be
// frozen.
func (g *Graph) WithMessageStarts() (*MessageStarts, error) {
	if g.MessageOverhead == 0 {
		return nil, nil
	}

	// Each node of the network becomes a server. The servers of g keep their numbers, and servers
	// of nodes follow them.
	n := int32(len(g.Tasks))
	s := &MessageStarts{Graph: &Graph{Tasks: slices.Clone(g.Tasks)},
		Tasks: int(n), StartOf: slices.Repeat([]int32{-1}, int(n)), contended: g.contention != nil}
	firstServer := int32(0) // the server of node 0
	for _, h := range g.Contention.Holds {
		firstServer = max(firstServer, h.Server+1)
	}

	s.Graph.Contention = Contention{
		Holds: slices.Clone(g.Contention.Holds), Offers: g.Contention.Offers, Requests: g.Contention.Requests}

	// Add the start tasks.
	var started []int32 // the message of each start task, in the order of start tasks
	for i := range n {
		if !g.IsMessage(i) {
			continue
		}
		start := s.Graph.AddTask(Task{Duration: g.MessageOverhead})
		s.StartOf[i], started = start, append(started, i)
		s.Graph.AddDependency(start, i)
		s.Graph.Contention.Holds = append(s.Graph.Contention.Holds,
			Hold{Server: firstServer + g.Tasks[i].Src, First: start, Last: start})
	}

	// Edges to a message lead to its start task.
	for i := range n {
		for _, e := range g.Out(i) {
			if s.StartOf[e.To] >= 0 {
				e.To = s.StartOf[e.To]
			}
			s.Graph.AddEdge(e.From, e.To, e.Lag)
		}
	}

	s.Graph.Namer = func(id int32) string {
		if id < n {
			return g.Name(id)
		}
		return "the start of " + g.Name(started[id-n])
	}
	return s, s.Graph.Freeze()
}

// Trace converts a trace of s.Graph to a trace of the original graph. Messages start with their
// start tasks.
func (s *MessageStarts) Trace(t *Trace) *Trace {
	n := s.Tasks
	out := *t
	out.Start, out.End = slices.Clone(t.Start[:n]), t.End[:n]
	for i, start := range s.StartOf {
		if start >= 0 {
			out.Start[i] = t.Start[start]
		}
	}
	if t.StepStart != nil {
		out.StepStart = t.StepStart[:n+1]
	}
	out.Cause = nil // only graphs with a contention have causes
	if s.contended {
		out.Cause = t.Cause[:n]
	}
	return &out
}

// Routes converts routes of the original graph to routes of s.Graph. Start tasks use no resource.
func (s *MessageStarts) Routes(r *Routes) *Routes {
	numStarts := len(s.Graph.Tasks) - s.Tasks
	out := &Routes{Start: slices.Clone(r.Start), Uses: r.Uses}
	if len(r.Start) > 0 {
		out.Start = append(out.Start, slices.Repeat(r.Start[len(r.Start)-1:], numStarts)...)
	}
	if r.FlowCap != nil {
		out.FlowCap = append(slices.Clone(r.FlowCap), make([]float64, numStarts)...)
	}
	return out
}

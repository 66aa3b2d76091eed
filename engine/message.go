package engine

import "slices"

// IsMessage reports whether a task is a message: a transfer of some bytes. Starting it takes Graph.MessageOverhead.
func (g *Graph) IsMessage(id int32) bool {
	return g.Tasks[id].Kind == Transfer && g.Tasks[id].Bytes > 0
}

// MessageStarts is a graph whose messages are started by compute tasks of their own.
type MessageStarts struct {
	Graph   *Graph
	Tasks   int     // of the graph without starts: tasks from there on are starts
	StartOf []int32 // by task of the graph without starts: the task that starts it, -1 if none does

	contended bool // the graph without starts has a contention
}

// WithMessageStarts returns g with its message overhead written out: a task for each message, which lasts the overhead and
// holds the message's source meanwhile. What a message waits for its start waits for instead. Starts are behind all
// tasks of g, which keep their ids. It returns nil if g has no message overhead. g must be frozen.
func (g *Graph) WithMessageStarts() (*MessageStarts, error) {
	if g.MessageOverhead == 0 {
		return nil, nil
	}
	n := int32(len(g.Tasks))
	s := &MessageStarts{Graph: &Graph{Tasks: slices.Clone(g.Tasks)}, Tasks: int(n), StartOf: slices.Repeat([]int32{-1}, int(n)), contended: g.contention != nil}
	server := int32(0) // of node 0
	for _, h := range g.Contention.Holds {
		server = max(server, h.Server+1)
	}
	s.Graph.Contention = Contention{Holds: slices.Clone(g.Contention.Holds), Offers: g.Contention.Offers, Requests: g.Contention.Requests}
	var started []int32 // by start: its message
	for i := range n {
		if !g.IsMessage(i) {
			continue
		}
		start := s.Graph.AddTask(Task{Duration: g.MessageOverhead})
		s.StartOf[i], started = start, append(started, i)
		s.Graph.AddEdge(start, i, 0)
		s.Graph.Contention.Holds = append(s.Graph.Contention.Holds, Hold{Server: server + g.Tasks[i].Src, First: start, Last: start})
	}
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

// Trace returns a trace of s.Graph as one of the graph without starts: messages begin when their starts do.
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
	if out.Cause = nil; s.contended {
		out.Cause = t.Cause[:n]
	}
	return &out
}

// Routes returns routes of the graph without starts as those of s.Graph: starts use nothing.
func (s *MessageStarts) Routes(r *Routes) *Routes {
	more := len(s.Graph.Tasks) - s.Tasks
	out := &Routes{Start: slices.Clone(r.Start), Uses: r.Uses}
	if len(r.Start) > 0 {
		out.Start = append(out.Start, slices.Repeat(r.Start[len(r.Start)-1:], more)...)
	}
	if r.FlowCap != nil {
		out.FlowCap = append(slices.Clone(r.FlowCap), make([]float64, more)...)
	}
	return out
}

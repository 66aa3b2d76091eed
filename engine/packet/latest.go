package packet

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"

	"sim/engine"
)

// ErrLatest is wrapped by NewLatest where it knows no bound, or seeking one would take too long.
var ErrLatest = errors.New("packet: no bound on when packets arrive")

// Latest is by when tasks of a graph end in packets, in whatever order links serve those that wait.
type Latest struct {
	End   []engine.Time // by task
	Parts Parts         // of the latest of them
}

// Parts are what a chain of tasks, each of which waits for the one before, takes at most.
type Parts struct {
	Alone  engine.Time // computing, lags, latencies of links, and the bytes of the chain's transfers over their slowest links
	Stored engine.Time // whole packets, stored at every node between two links
	Shared engine.Time // bytes of other transfers on the same links
}

// Sum returns how long the chain takes.
func (p *Parts) Sum() engine.Time { return p.Alone + p.Stored + p.Shared }

// NewLatest bounds when the tasks of g end in RunGraph under DropTail on unbounded queues of links that do not change
// and make no errors, or in flow.Run by max-min fair sharing: anything that keeps a link busy while something waits for
// it. rank is Options.TaskRank of that run; nil is any order. docs/model.md, "Two levels", has the proof.
//
// A transfer that may begin at a takes, at most, its bytes over its slowest link, the latencies of its path, a packet at
// each node that stores it, and the bytes of those that may be under way in the meantime: each once for every stretch of
// links that both take, over the slowest link of that. Which these are follows from the times themselves, from what waits
// for what and from ranks. The least times that fit each other are sought from below.
//
// It fails with ErrLatest where packets draw their links node by node, and where it would look at more than most pairs of
// transfers, each time that it does.
func NewLatest(ctx context.Context, g *engine.Graph, n *engine.Network, flows []engine.Flow, paths *engine.Paths, bytes int32, rank []int32, most int64) (*Latest, error) {
	if paths.Spread != nil {
		return nil, fmt.Errorf("%w: packets draw their links node by node", ErrLatest)
	}
	transfers := int64(0)
	for i := range g.Tasks {
		if g.Tasks[i].Kind == engine.Transfer {
			transfers++
		}
	}
	z := &latest{g: g, n: n, most: most, tasks: make([]lateTask, len(g.Tasks))}
	if transfers*transfers/int64(max(1, len(n.Links))) > most/16 { // pairs that share a link, at least, which are looked at again and again
		return nil, z.tooMany()
	}
	w, _, err := byTask(g, &Work{Flows: flows, Paths: paths}, Options{})
	if err != nil {
		return nil, err
	}
	z.follow(w, float64(bytes))
	z.heads()
	if err := z.pair(ctx, float64(bytes), rank); err != nil {
		return nil, err
	}
	order := slices.Clone(g.Order()) // and in that of time, in which most follows from what is before it
	slices.SortStableFunc(order, func(a, b int32) int { return cmp.Compare(z.tasks[a].head, z.tasks[b].head) })
	for z.changed = true; z.changed; {
		if z.changed = false; ctx.Err() != nil {
			return nil, ctx.Err()
		}
		for _, id := range order {
			z.raise(id)
		}
		if z.work > z.most {
			return nil, z.tooMany()
		}
	}
	return z.result(), nil
}

// latest is the search for the times. Times are in ticks.
type latest struct {
	g      *engine.Graph
	n      *engine.Network
	routes []lateRoute
	tasks  []lateTask

	changed    bool
	near       []lateEnd // room for raise
	work, most int64
}

// lateRoute is the paths of transfers with the same ends.
type lateRoute struct {
	paths   [][]int32 // links
	first   []int32   // links that some path begins with
	links   []int32   // of all paths
	once    bool      // there is one path, which comes to its first link once
	wire    float64   // latencies of the path on which they are longest
	stored  float64   // packets that are stored on the way
	blocked float64   // packets that its links may have begun to send
	alone   float64   // least ticks a byte, over all paths at once
	over    map[int32]float64
}

type lateTask struct {
	route  int32   // -1 of what takes no link
	head   float64 // no sooner does it start
	end    float64
	ready  float64
	by     int32 // the task that it then waits for, -1 for none
	own    float64
	meets  []lateEnd // transfers that may be in its way, by their heads; at is how long
	below  []int32   // those of higher ranks, of which a packet may be on each link
	behind bool      // some of these may be under way with it
}

// lateEnd is a transfer and a time.
type lateEnd struct {
	task int32
	at   float64
}

// ticksOf returns the ticks that a byte takes on a link.
func (z *latest) ticksOf(link int32) float64 {
	return 8 * float64(engine.Second) / z.n.Links[link].Rate
}

// follow lays the paths of all transfers out.
func (z *latest) follow(w *Work, packet float64) {
	type key struct{ class, src int32 }
	index := map[key]int32{}
	for i := range z.g.Tasks {
		t := &z.g.Tasks[i]
		if z.tasks[i].route = -1; t.Kind != engine.Transfer || t.Bytes == 0 {
			continue
		}
		k := key{w.Paths.ClassOf(int32(i)), t.Src}
		r, ok := index[k]
		if !ok {
			r = int32(len(z.routes))
			index[k] = r
			z.routes = append(z.routes, z.route(w.Paths, k.class, t.Src, packet))
		}
		if len(z.routes[r].links) > 0 {
			z.tasks[i].route = r
		}
	}
}

// route lays out the paths of a class from a node.
func (z *latest) route(w *engine.Paths, class, src int32, packet float64) lateRoute {
	r, rate, out := lateRoute{over: map[int32]float64{}}, 0.0, 0.0 // bytes a tick of all paths, and of their first links
	first, end := w.Of(class)
	for p := first; p < end; p++ {
		if w.ShareOf(class, p) == 0 {
			continue
		}
		var path []int32
		at, wire, stored, blocked, slowest := src, 0.0, 0.0, 0.0, 0.0
		steps := w.Steps(p)
		for k, s := range steps {
			link := w.Out(at, s)
			path = append(path, link)
			wire += float64(z.n.Links[link].Latency)
			slowest = max(slowest, z.ticksOf(link))
			if k < len(steps)-1 {
				stored += packet * z.ticksOf(link)
			}
			blocked += packet * z.ticksOf(link)
			if !slices.Contains(r.links, link) {
				r.links = append(r.links, link)
			}
			at = z.n.Links[link].To
		}
		if len(path) == 0 {
			continue
		}
		if !slices.Contains(r.first, path[0]) {
			r.first = append(r.first, path[0])
			out += 1 / z.ticksOf(path[0])
		}
		r.paths = append(r.paths, path)
		r.wire, r.stored, r.blocked = max(r.wire, wire), max(r.stored, stored), max(r.blocked, blocked)
		rate += 1 / slowest
	}
	r.alone = 1 / min(rate, out)
	r.once = len(r.paths) == 1 && !slices.Contains(r.paths[0][1:], r.first[0])
	return r
}

// takes returns how many ticks each byte of route b may keep a transfer of route a waiting. Where a has several first
// links, its packets wait in turn for the one that each takes, and then along their path.
func (z *latest) takes(a, b int32) float64 {
	if t, ok := z.routes[a].over[b]; ok {
		return t
	}
	most := 0.0
	for _, p := range z.routes[a].paths {
		for _, q := range z.routes[b].paths {
			t := z.along(p, q)
			if len(z.routes[a].first) > 1 {
				for _, link := range q {
					if slices.Contains(z.routes[a].first, link) {
						t += z.ticksOf(link)
					}
				}
			}
			most = max(most, t)
		}
	}
	z.routes[a].over[b] = most
	return most
}

// along returns the ticks of a byte that goes along q on the slowest link of each stretch that p takes, too.
func (z *latest) along(p, q []int32) float64 {
	sum, slowest, last := 0.0, 0.0, -2 // place in q of the link before, of a stretch
	for _, link := range p {
		k := slices.Index(q, link)
		if k < 0 {
			sum, slowest, last = sum+slowest, 0, -2
			continue
		}
		if k != last+1 {
			sum, slowest = sum+slowest, 0
		}
		slowest, last = max(slowest, z.ticksOf(link)), k
		for k++; slices.Contains(q[k:], link); k++ { // it comes there again
			k += slices.Index(q[k:], link)
			sum += z.ticksOf(link)
		}
	}
	return sum + slowest
}

// heads finds when tasks start and end if no two are in each other's way.
func (z *latest) heads() {
	for _, id := range z.g.Order() {
		t := &z.tasks[id]
		for _, e := range z.g.In(id) {
			t.head = max(t.head, z.tasks[e.From].end+float64(e.Lag))
		}
		t.end = t.head
		if t.route < 0 {
			if z.g.Tasks[id].Kind == engine.Compute {
				t.own = float64(z.g.Tasks[id].Duration)
			}
			t.end += t.own
			continue
		}
		r := &z.routes[t.route]
		bytes := float64(z.g.Tasks[id].Bytes)
		t.end += bytes * r.alone
		t.own = bytes*z.takes(t.route, t.route) + r.wire + r.stored + 1 // a tick of rounding
	}
}

// pair lists by transfer which others may be in its way, and for how long.
func (z *latest) pair(ctx context.Context, packet float64, rank []int32) error {
	users := make([][]int32, len(z.n.Links))
	for i := range z.tasks {
		if r := z.tasks[i].route; r >= 0 {
			for _, link := range z.routes[r].links {
				users[link] = append(users[link], int32(i))
			}
		}
	}
	seen := slices.Repeat([]int32{-1}, len(z.tasks))
	for from := 0; from < len(z.tasks); from += columns {
		before, after := z.reach(from, false), z.reach(from, true)
		for i := range z.tasks {
			if z.work > z.most {
				return z.tooMany()
			}
			if ctx.Err() != nil {
				return ctx.Err()
			}
			t, id := &z.tasks[i], int32(i)
			if t.route < 0 {
				continue
			}
			seen[id] = id
			for _, link := range z.routes[t.route].links {
				at, _ := slices.BinarySearch(users[link], int32(from))
				for _, j := range users[link][at:] {
					k := int(j) - from
					if z.work++; k >= columns {
						break
					}
					word, bit := k/64, uint64(1)<<(k%64)
					if seen[j] == id || before[i][word]&bit != 0 || after[i][word]&bit != 0 {
						continue
					}
					seen[j] = id
					z.meet(id, j, packet, rank)
				}
			}
		}
	}
	for i := range z.tasks {
		slices.SortFunc(z.tasks[i].meets, func(a, b lateEnd) int { return cmp.Compare(z.tasks[a.task].head, z.tasks[b.task].head) })
	}
	return nil
}

// columns is how many tasks are looked at together in search of what waits for what.
const columns = 4096

// reach returns by task which of some columns wait for it, over other tasks, or with after it for them.
func (z *latest) reach(from int, after bool) (rows [][columns / 64]uint64) {
	rows = make([][columns / 64]uint64, len(z.tasks))
	mark := func(id int32, edges []engine.Edge, other func(e *engine.Edge) int32) {
		z.work += int64(len(edges)) * columns / 64 / 8 // which are words in a row
		for k := range edges {
			to := other(&edges[k])
			for w, bits := range rows[to] {
				rows[id][w] |= bits
			}
			if c := int(to) - from; c >= 0 && c < columns {
				rows[id][c/64] |= 1 << (c % 64)
			}
		}
	}
	order := z.g.Order()
	for i := range order {
		if after {
			mark(order[i], z.g.In(order[i]), func(e *engine.Edge) int32 { return e.From })
		} else {
			id := order[len(order)-1-i]
			mark(id, z.g.Out(id), func(e *engine.Edge) int32 { return e.To })
		}
	}
	return rows
}

// meet notes that transfer j may be in the way of another.
func (z *latest) meet(id, j int32, packet float64, rank []int32) {
	t := &z.tasks[id]
	if rank != nil && rank[j] > rank[id] {
		t.below = append(t.below, j)
		return
	}
	own, other := &z.routes[t.route], &z.routes[z.tasks[j].route]
	bytes := float64(z.g.Tasks[j].Bytes)
	takes := bytes * z.takes(t.route, z.tasks[j].route)
	if rank == nil && own.once && other.once && own.first[0] == other.first[0] {
		// both have one packet at a time before that link, which takes them in turns
		some := min(bytes, float64(z.g.Tasks[id].Bytes)+2*packet)
		takes = min(takes, some*z.ticksOf(own.first[0])+bytes*z.along(own.paths[0][1:], other.paths[0][1:]))
	}
	t.meets = append(t.meets, lateEnd{j, takes})
}

// raise raises the end of a task to what those of others ask for.
func (z *latest) raise(id int32) {
	t := &z.tasks[id]
	t.ready, t.by = 0, -1
	for _, e := range z.g.In(id) {
		if at := z.tasks[e.From].end + float64(e.Lag); t.by < 0 || at > t.ready {
			t.ready, t.by = at, e.From
		}
	}
	const patience = 8 // a time that fits the others in all the same, if not the least, is found at once
	for k := 0; z.work <= z.most; k++ {
		z.work += int64(len(t.meets) + len(t.below))
		end := z.ends(t)
		if k == patience {
			end = max(end, z.leap(t))
		}
		if end <= t.end {
			return
		}
		t.end, z.changed = end, true
	}
}

// ends returns by when a task ends that is under way until its end. From any moment on at which it is ready it takes no
// more than what is then under way does; the moments after which less is are those at which others end. The least over
// all of them never falls where other ends rise.
func (z *latest) ends(t *lateTask) float64 {
	t.behind = slices.ContainsFunc(t.below, func(j int32) bool { return z.tasks[j].head < t.end && z.tasks[j].end > t.ready })
	own := t.own
	if t.behind {
		own += z.routes[t.route].blocked
	}
	all := own
	for _, m := range t.meets {
		if other := &z.tasks[m.task]; other.head < t.end && other.end > t.ready {
			all += m.at
		}
	}
	sum := own
	z.near = z.near[:0]
	for _, m := range t.meets {
		switch other := &z.tasks[m.task]; {
		case other.head >= t.end || other.end <= t.ready:
		case other.end+own >= t.ready+all:
			sum += m.at
		default:
			z.near = append(z.near, m)
		}
	}
	slices.SortFunc(z.near, func(a, b lateEnd) int { return cmp.Compare(z.tasks[b.task].end, z.tasks[a.task].end) })
	end := t.ready + all
	for _, m := range z.near {
		end = min(end, z.tasks[m.task].end+sum)
		sum += m.at
	}
	return end
}

// leap returns a time by which a task ends with all that are under way from when it is ready until then.
func (z *latest) leap(t *lateTask) float64 {
	end := t.ready + t.own + z.routes[t.route].blocked
	for _, m := range t.meets {
		other := &z.tasks[m.task]
		if other.head >= end {
			break
		}
		if other.end > t.ready {
			end += m.at
		}
	}
	return end
}

func (z *latest) tooMany() error {
	return fmt.Errorf("%w: %d pairs of transfers and more are to be looked at", ErrLatest, z.most)
}

// result returns the times, and follows what the latest waits for.
func (z *latest) result() *Latest {
	out := &Latest{End: make([]engine.Time, len(z.tasks))}
	last := int32(-1)
	for i := range z.tasks {
		out.End[i] = engine.Time(z.tasks[i].end) + 1
		if last < 0 || z.tasks[i].end > z.tasks[last].end {
			last = int32(i)
		}
	}
	if last < 0 {
		return out
	}
	alone, stored, shared := 1.0, 0.0, 0.0
	for id := last; id >= 0; id = z.tasks[id].by {
		t := &z.tasks[id]
		part := 0.0
		if t.route >= 0 {
			part = z.routes[t.route].stored
			if t.behind {
				stored += z.routes[t.route].blocked
				shared -= z.routes[t.route].blocked
			}
		}
		before := 0.0
		if t.by >= 0 {
			before = z.tasks[t.by].end
		}
		stored += part
		shared += t.end - t.ready - t.own
		alone += t.ready - before + t.own - part
	}
	out.Parts = Parts{engine.Time(alone), engine.Time(stored), engine.Time(shared)}
	return out
}

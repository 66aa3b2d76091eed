package collective

import (
	"fmt"
	"math"

	"sim/engine"
)

// ExpertRouting is the random choice of the experts of a token in a layer with experts. The
// experts are spread evenly over ranks, and the ranks over nodes, both in order.
//
// A token chooses TopK random experts. With MaxNodes, it chooses only among the experts of that
// number of nodes: the nodes with its best experts (node-limited routing; DeepSeek-AI,
// "DeepSeek-V3 Technical Report", 2024, Sec. 2.1.2). As in DeepEP's measurements, the score of a
// node is its best expert.
type ExpertRouting struct {
	Experts, TopK int
	Ranks, Nodes  int
	MaxNodes      int // 0 means no limit
}

// Check fails if the experts are not spread evenly, or if a token cannot choose enough of them.
func (r ExpertRouting) Check() error {
	switch {
	case r.Ranks < 1 || r.Experts < 1 || r.Experts%r.Ranks != 0:
		return fmt.Errorf("%w: %d experts on %d ranks; want a multiple of the ranks", ErrTraffic, r.Experts, r.Ranks)
	case r.Nodes < 1 || r.Ranks%r.Nodes != 0:
		return fmt.Errorf("%w: %d ranks on %d nodes; want a multiple of the nodes", ErrTraffic, r.Ranks, r.Nodes)
	case r.TopK < 1 || r.TopK > r.maxNodes()*(r.Experts/r.Nodes):
		return fmt.Errorf("%w: a token with %d experts of the %d on %d nodes; want at least 1, and at most these",
			ErrTraffic, r.TopK, r.maxNodes()*(r.Experts/r.Nodes), r.maxNodes())
	}
	return nil
}

// maxNodes returns the maximum number of nodes that hold the experts of a token.
func (r ExpertRouting) maxNodes() int {
	if r.MaxNodes < 1 {
		return r.Nodes
	}
	return min(r.MaxNodes, r.Nodes)
}

// Expected returns the expected numbers of ranks and of nodes that hold the experts of a token.
// Both are exact.
//
// A token chooses its experts from the best to the last one, so the numbers of ranks and nodes so
// far form a Markov chain. Until a token has MaxNodes nodes, each remaining expert is the next one
// with the same probability. Then the experts of other nodes are left out.
func (r ExpertRouting) Expected() (ranks, nodes float64) {
	limit := r.maxNodes()
	perRank, perNode, ranksPerNode := r.Experts/r.Ranks, r.Experts/r.Nodes, r.Ranks/r.Nodes
	maxRanks := min(r.TopK, r.Ranks)

	// probability is indexed by the number of nodes and of ranks.
	probability := make([][]float64, limit+1)
	for i := range probability {
		probability[i] = make([]float64, maxRanks+1)
	}
	probability[0][0] = 1
	for chosen := range r.TopK {
		// Larger numbers come first, because each step increases a number by at most 1.
		for n := limit; n >= 0; n-- {
			for k := maxRanks; k >= 0; k-- {
				p := probability[n][k]
				if p == 0 {
					continue
				}
				candidates := r.Experts - chosen
				if n == limit {
					candidates = limit*perNode - chosen
				} else if p := p * float64((r.Nodes-n)*perNode) / float64(candidates); p > 0 {
					probability[n+1][k+1] += p
				}
				newRank := p * float64((n*ranksPerNode-k)*perRank) / float64(candidates)
				if newRank > 0 {
					probability[n][k+1] += newRank
				}
				probability[n][k] = p * float64(k*perRank-chosen) / float64(candidates)
			}
		}
	}
	for n, row := range probability {
		for k, p := range row {
			ranks, nodes = ranks+p*float64(k), nodes+p*float64(n)
		}
	}
	return ranks, nodes
}

// The copies of a token that are sent to its experts.
const (
	CopyPerExpert = "expert" // one copy to the GPU of each expert
	CopyPerGPU    = "gpu"    // one copy to each GPU that holds some of the experts
	// CopyPerNode sends one copy to each node that holds some of the experts: to the GPU with
	// the same place in the node as the sender. It passes the copy on inside the node.
	CopyPerNode = "node"
)

// expertsName is the name of the pattern Experts in scenarios and messages.
const expertsName = "experts"

// Experts is the pattern of a dispatch: each GPU sends its tokens to the GPUs that hold their
// experts. A combine has the same flows in the opposite direction. Copies are passed on while
// others arrive, so that all flows start together.
type Experts struct {
	Tokens   int    `key:"tokens" doc:"tokens of each GPU; message is the size of a token" default:"128" min:"1" max:"1000000000"`
	Experts  int    `key:"experts" doc:"number of experts, spread evenly over the GPUs" default:"256" min:"1" max:"1048576"`
	TopK     int    `key:"top_k" doc:"experts of a token, chosen at random" default:"8" min:"1" max:"1024"`
	Copies   string `key:"expert_copies" doc:"copies of a token: one per 'expert', one per 'gpu' that holds some of its experts, or one per 'node', inside which the GPU with the place of the sender passes it on" default:"expert" choices:"expert|gpu|node"`
	NodeGPUs int    `key:"node_gpus" doc:"GPUs of a node" default:"8" min:"1" max:"4096" when:"expert_copies=gpu|node"`
	MaxNodes int    `key:"expert_nodes" doc:"maximum number of nodes that hold a token's experts (node-limited routing); 0 means no limit" default:"0" max:"1048576" when:"expert_copies=gpu|node"`
}

// Traffic returns the pattern, with the expected sizes. message is the size of a token in bytes.
func (e *Experts) Traffic(p PatternInput, message int64) (*Traffic, error) {
	if err := checkNodes(expertsName, p.Nodes, message, p.Down); err != nil {
		return nil, err
	}
	up := liveNodes(p.Nodes, p.Down) // the GPUs
	if err := checkTotal(expertsName, int64(len(up))*int64(e.Tokens)*int64(e.TopK), message); err != nil {
		return nil, err
	}
	r := ExpertRouting{Experts: e.Experts, TopK: e.TopK, Ranks: len(up), Nodes: 1}
	if e.Copies != CopyPerExpert {
		nodeGPUs := min(max(1, e.NodeGPUs), len(up))
		if len(up)%nodeGPUs != 0 {
			return nil, fmt.Errorf("%w: %s on %d GPUs in nodes of %d; want a multiple of a node", ErrTraffic, expertsName, len(up), nodeGPUs)
		}
		r.Nodes, r.MaxNodes = len(up)/nodeGPUs, e.MaxNodes
	}
	if err := r.Check(); err != nil {
		return nil, err
	}

	bytes := float64(e.Tokens) * float64(message)
	x := r.Exchange(e.Copies, bytes)
	t := &Traffic{Name: expertsName, Nodes: p.Nodes}
	for i, src := range up {
		for k, dst := range up {
			if b := x.Size(i, k); b > 0 {
				t.Flows = append(t.Flows, engine.Flow{Src: src, Dst: dst})
				t.Bytes = append(t.Bytes, b)
				t.Message = max(t.Message, b)
			}
		}
	}
	return t, t.checkNotEmpty()
}

// Exchange is the bytes of an all-to-all of tokens between the GPUs of a group.
type Exchange struct {
	// Inside is the size of a message between two GPUs of a node, or of any two GPUs if NodeGPUs
	// is 0. Between is the size of a message between the GPUs with the same place in two nodes.
	Inside, Between int64
	NodeGPUs        int
}

// Size returns the bytes from one GPU to another.
func (x Exchange) Size(from, to int) int64 {
	switch {
	case from == to:
		return 0
	case x.NodeGPUs == 0 || from/x.NodeGPUs == to/x.NodeGPUs:
		return x.Inside
	case from%x.NodeGPUs == to%x.NodeGPUs:
		return x.Between
	}
	return 0
}

// Exchange returns the expected sizes of an all-to-all with the given kind of copies, rounded up.
// bytes is the size of all tokens of a GPU.
func (r ExpertRouting) Exchange(copies string, bytes float64) Exchange {
	up := func(x float64) int64 { return int64(math.Ceil(x)) }
	if copies != CopyPerGPU && copies != CopyPerNode {
		return Exchange{Inside: up(bytes * float64(r.TopK) / float64(r.Ranks))}
	}
	ranks, nodes := r.Expected()
	if copies == CopyPerGPU {
		return Exchange{Inside: up(bytes * ranks / float64(r.Ranks))}
	}
	// A GPU passes on as many copies as its own tokens have, because all GPUs do the same.
	ranksPerNode := r.Ranks / r.Nodes
	return Exchange{
		Inside: up(bytes * ranks / float64(ranksPerNode)), Between: up(bytes * nodes / float64(r.Nodes)),
		NodeGPUs: ranksPerNode,
	}
}

package scenarios

import (
	"strings"
	"testing"
)

// TestModelSize checks that each dimension of a model alone can make it too large: the other
// dimensions are 1 or, for the first ones, as large as accepted.
func TestModelSize(t *testing.T) {
	dense := []string{"layers=65536", "hidden=16777216", "heads=1", "head_dim=1", "ffn=1", "vocab=1"}
	experts := append(dense[:len(dense):len(dense)], "experts=1", "top_k=1", "expert_ffn=1")
	latent := []string{"layers=65536", "hidden=16777216", "heads=1", "ffn=1", "vocab=1", "attention=mla",
		"q_rank=1", "kv_rank=1", "rope_dim=1", "nope_dim=1", "value_dim=1"}
	for _, c := range []struct {
		model      []string
		keys       string
		isTooLarge bool
	}{
		{dense, "", false},
		{dense, "heads=4096", true},
		{dense, "head_dim=4096", true},
		{dense, "ffn=4096", true},
		{dense, "ffn=2998", false},
		{dense, "ffn=2998 vocab=16777216", true},
		{experts, "", false},
		{experts, "expert_ffn=4096", true},
		{experts, "experts=4096", true},
		{experts, "shared_experts=4096", true},
		{latent, "", false},
		{latent, "q_rank=16384", true},
		{latent, "kv_rank=16384", true},
		{latent, "rope_dim=4096", true},
		{latent, "nope_dim=4096", true},
		{latent, "value_dim=4096", true},
	} {
		var set []string
		for _, key := range append(c.model[:len(c.model):len(c.model)], strings.Fields(c.keys)...) {
			set = append(set, "workload.architecture."+key)
		}
		_, err := Parse("model.toml", []byte(smallJob), set)
		if got := err != nil && strings.Contains(err.Error(), "parameters is too large"); got != c.isTooLarge {
			t.Errorf("%v: got error %v, want one about the parameters: %t", set, err, c.isTooLarge)
		}
	}
}

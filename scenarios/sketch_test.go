package scenarios

import (
	"context"
	"fmt"
	"testing"
)

func TestSketchRun(t *testing.T) {
	for _, f := range []string{"deepseek671b", "gpt7b", "megatron462b"} {
		s, err := Load(f, nil)
		if err != nil {
			t.Fatal(err)
		}
		o, err := Run(context.Background(), s, RunOptions{Workers: 2})
		if err != nil {
			t.Fatal(err)
		}
		fmt.Println(o.Detail.Title)
		fmt.Println(o.Document.Reference)
		for i, r := range o.Document.Rows {
			fmt.Println(r.Policy, r.Metrics, o.Timings.Policies[r.Policy], len(o.Detail.Policies[i].Path), o.Detail.Policies[i].Shares())
			fmt.Println(r.Labels["topology"])
		}
		fmt.Println(o.Timings.WallS)
	}
}

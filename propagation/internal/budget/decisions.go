// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package budget

import (
	"context"
	"errors"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"open-cluster-management.io/multicluster-integrations/propagation/internal/appcache"
	"open-cluster-management.io/multicluster-integrations/propagation/internal/guard"
	"open-cluster-management.io/multicluster-integrations/shared/argocd"
	"open-cluster-management.io/multicluster-integrations/shared/contract"
)

// What operators decide is written on objects that no controller writes over: the
// ApplicationSet controller replaces the annotations of its Applications.

// +kubebuilder:rbac:groups=argoproj.io,resources=applicationsets,verbs=list;watch
// +kubebuilder:rbac:groups="",resources=namespaces,verbs=list;watch

// outlive are the annotations of an ApplicationSet that count after its end: it is deleted
// together with its Applications, whose withdrawals they are about.
var outlive = []string{contract.DeletionBudgetAnnotation, contract.PausedAnnotation}

// errNotRestored: what ApplicationSets have said is not read yet.
var errNotRestored = errors.New("the records of withdrawals are not read yet")

// Observe takes over what an ApplicationSet has, or had last.
func (b *Budget) Observe(set *metav1.PartialObjectMetadata) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.words.Observe(guard.Group{Namespace: set.Namespace, Set: set.Name}, set.UID, set.Annotations, outlive...) {
		b.unsaved = true
		b.Wake()
	}
}

// SetAnnotations returns the annotations of an ApplicationSet. Of one that is gone they are
// those of its withdrawals and its pause, as they were last.
func (b *Budget) SetAnnotations(ctx context.Context, namespace, name string) (annotations map[string]string, gone bool, err error) {
	set, err := b.read(ctx, argocd.ApplicationSetMetadata(), client.ObjectKey{Namespace: namespace, Name: name})
	if err != nil {
		return nil, false, err
	}
	if set != nil {
		b.Observe(set)
		return set.Annotations, false, nil
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	if !b.restored {
		return nil, true, errNotRestored
	}
	return b.words[guard.Group{Namespace: namespace, Set: name}].Annotations, true, nil
}

// Decision returns what operators have decided about a group: on its ApplicationSet, on its
// Namespace, or on propagation's for the whole hub, which is the zero Group. revocation:
// about what may not be there any more; the ApplicationSet, which tenants write, has no say.
func (b *Budget) Decision(ctx context.Context, g guard.Group, revocation bool) (guard.Decision, error) {
	var onSet guard.Decision
	var gone bool
	if g.Set != "" && !revocation {
		annotations, isGone, err := b.SetAnnotations(ctx, g.Namespace, g.Set)
		if err != nil {
			return guard.Decision{}, err
		}
		gone = isGone
		onSet, _ = guard.Parse(annotations[contract.DeletionBudgetAnnotation], argocd.ApplicationSetKind+" "+g.Namespace+"/"+g.Set, b.now()) // a bad value was reported when it was seen
		onSet.Gone = gone && onSet.Word != guard.None
	}
	var onNamespaces []guard.Decision
	for _, name := range []string{g.Namespace, b.options.Namespace} {
		if name == "" {
			continue
		}
		namespace, err := b.read(ctx, appcache.NamespaceMetadata(), client.ObjectKey{Name: name})
		if err != nil {
			return guard.Decision{}, err
		}
		if namespace != nil {
			d, _ := guard.Parse(namespace.Annotations[contract.DeletionBudgetAnnotation], "Namespace "+name, b.now())
			onNamespaces = append(onNamespaces, d)
		}
	}
	return guard.Effective(onSet, gone, onNamespaces...), nil
}

// read reads an ApplicationSet or Namespace from the cache, nil when it is gone.
func (b *Budget) read(ctx context.Context, o *metav1.PartialObjectMetadata, key client.ObjectKey) (*metav1.PartialObjectMetadata, error) {
	err := b.client.Get(ctx, key, o, client.UnsafeDisableDeepCopy)
	if apierrors.IsNotFound(err) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("get %s %s: %w", o.Kind, key, err)
	}
	return o, nil
}

func (b *Budget) restoreOnce(ctx context.Context) error {
	b.mu.Lock()
	restored := b.restored
	b.mu.Unlock()
	if restored {
		return nil
	}
	return b.restore(ctx)
}

// restore takes up what is stored. ApplicationSets that are there count as they are.
func (b *Budget) restore(ctx context.Context) error {
	records, words, err := b.store.load(ctx)
	if err != nil {
		return err
	}
	b.mu.Lock()
	first := !b.restored
	b.ledger.Restore(records)
	for g, w := range words {
		if _, known := b.words[g]; !known {
			b.words[g] = w
		}
	}
	holds := b.ledger.Holds()
	b.restored = true
	b.mu.Unlock()
	if !first {
		return nil
	}
	b.reporter.assume(holds)
	for g := range words {
		if _, _, err := b.SetAnnotations(ctx, g.Namespace, g.Set); err != nil {
			return err
		}
	}
	return nil
}

// saveWords stores what ApplicationSets say when that has changed.
func (b *Budget) saveWords(ctx context.Context) error {
	b.mu.Lock()
	unsaved, records := b.unsaved, b.ledger.Records()
	b.mu.Unlock()
	if !unsaved {
		return nil
	}
	if err := b.save(ctx, records, deliveries(b.index)); err != nil {
		return errors.Join(err, b.restore(ctx))
	}
	return nil
}

// save stores records and words, but for the words that are over.
func (b *Budget) save(ctx context.Context, records guard.Records, count func(guard.Group) int) error {
	present := map[guard.Group]bool{}
	b.mu.Lock()
	for g := range b.words {
		present[g] = false
	}
	b.mu.Unlock()
	for g := range present {
		set, err := b.read(ctx, argocd.ApplicationSetMetadata(), client.ObjectKey{Namespace: g.Namespace, Name: g.Set})
		if err != nil {
			return err
		}
		present[g] = set != nil
	}
	b.mu.Lock()
	gone := func(g guard.Group) bool { there, known := present[g]; return known && !there }
	b.words.Prune(gone, func(g guard.Group) bool { return count(g) == 0 }, b.now())
	text, leftOut, err := b.words.Encode(maxWords)
	b.unsaved = false
	b.mu.Unlock()
	if err == nil {
		err = b.store.save(ctx, records, text, leftOut)
	}
	if err != nil {
		b.mu.Lock()
		b.unsaved = b.unsaved || len(present) > 0
		b.mu.Unlock()
	}
	return err
}

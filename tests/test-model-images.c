/* SPDX-License-Identifier: MIT */
/* Models whose head reads one token: of images, vit and CLIP's tower, with patches in place of a table of words; of
 * texts, CLIP's other tower. */
#include "model-family.h"
#include "model-masks.h"
#include "shape-case.h"

/* ViT-Base/16 on ImageNet's 1 000 labels: 86 567 656 parameters. Of a batch of images, the patches' matrix works on 196
 * tokens each, the layers' on 197, the head's on one. */
static void images_are_patches(void) {
  ModelShape shape =
      shape_case_load("{'model_type': 'vit', 'hidden_size': 768, 'image_size': 224, 'intermediate_size': 3072,"
                      " 'num_attention_heads': 12, 'num_channels': 3, 'num_hidden_layers': 12, 'patch_size': 16}",
                      (const char *const[]){"model.vocab_size=1000", NULL});
  CU_ASSERT_EQUAL(model_shape_parameters(&shape), 86567656);
  CU_ASSERT_EQUAL(shape.max_positions, 197);
  ModelRecipe recipe = {.sequence_length = 197};
  g_autoptr(ModelUnit) embedding = model_unit_new(&shape, &recipe, 8, MODEL_UNIT_EMBEDDING);
  g_autoptr(ModelUnit) head = model_unit_new(&shape, &recipe, 8, MODEL_UNIT_HEAD);
  CU_ASSERT_EQUAL(model_unit_forward_cost(embedding).flops, 2.0 * 8 * 196 * 768 * 768);
  CU_ASSERT_EQUAL(model_unit_backward_cost(embedding).flops, 2.0 * 8 * 196 * 768 * 768); /* nobody wants d_pixels */
  CU_ASSERT_EQUAL(model_unit_forward_cost(head).flops, 2.0 * 8 * 768 * 1000);
  masks_check(embedding);
  masks_check(head);
  model_shape_clear(&shape);
}

/* CLIP ViT-B/32 has 151 277 313 parameters (openai/clip-vit-base-patch32): a scale, 12 layers of 512 in the tower of
 * texts, 63 428 096 with its projection, and 87 849 216 in that of images; ViT-L/14's tower has 303 966 208. The head
 * is the projection of one token; the patches' matrix has no bias. */
static void clip_is_a_tower(void) {
  ModelShape shape = shape_case_load("{'model_type': 'clip', 'text_config': {'hidden_size': 512},"
                                     " 'vision_config': {'hidden_size': 768, 'patch_size': 32, 'projection_dim': 512}}",
                                     (const char *const[]){"model.family=clip_vision", NULL});
  CU_ASSERT_EQUAL(model_shape_parameters(&shape), 151277313 - 1 - 63428096);
  CU_ASSERT_EQUAL(shape.max_positions, 50);
  CU_ASSERT_TRUE(g_strv_contains((const char *const *)shape.assumed,
                                 "text_config is left out: the vision tower alone is trained"));
  model_shape_clear(&shape);
  shape =
      shape_case_load("{'model_type': 'clip_vision_model', 'hidden_size': 1024, 'intermediate_size': 4096,"
                      " 'num_attention_heads': 16, 'num_hidden_layers': 24, 'patch_size': 14, 'projection_dim': 768}",
                      (const char *const[]){NULL});
  CU_ASSERT_EQUAL(model_shape_parameters(&shape), 303966208);
  model_shape_clear(&shape);
}

/* The other tower, and ViT-L/14's of 427 616 513 in all (openai/clip-vit-large-patch14). Of 8 texts of 77 tokens the
 * projection works on 8; attention is causal, and its table of words is not the projection. */
static void clip_reads_texts(void) {
  ModelShape shape =
      shape_case_load("{'model_type': 'clip', 'text_config': {'hidden_size': 512, 'projection_dim': 512},"
                      " 'vision_config': {'hidden_size': 768}}",
                      (const char *const[]){"model.family=clip_text", NULL});
  CU_ASSERT_EQUAL(model_shape_parameters(&shape), 63428096);
  CU_ASSERT_TRUE(g_strv_contains((const char *const *)shape.assumed,
                                 "vision_config is left out: the text model alone is trained"));
  ModelRecipe recipe = {.sequence_length = 77};
  g_autoptr(ModelUnit) head = model_unit_new(&shape, &recipe, 8, MODEL_UNIT_HEAD);
  CU_ASSERT_EQUAL(model_unit_forward_cost(head).flops, 2.0 * 8 * 512 * 512);
  masks_check(head);
  model_shape_clear(&shape);
  shape = shape_case_load("{'model_type': 'clip_text_model', 'hidden_size': 768, 'intermediate_size': 3072,"
                          " 'num_attention_heads': 12, 'vocab_size': 49408, 'projection_dim': 768}",
                          (const char *const[]){NULL});
  CU_ASSERT_EQUAL(model_shape_parameters(&shape), 427616513 - 1 - 303966208);
  model_shape_clear(&shape);
}

int main(void) {
  return harness_run("model-images", (HarnessCase[]){{"images are patches", images_are_patches},
                                                     {"CLIP is a tower", clip_is_a_tower},
                                                     {"CLIP reads texts", clip_reads_texts},
                                                     {NULL, NULL}});
}

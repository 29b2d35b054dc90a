/* SPDX-License-Identifier: MIT */
/* LLaMA-Factory's YAML: the Trainer's arguments beside its own.
 *
 * Source: llamafactory/hparams (model_args.py, finetuning_args.py, data_args.py) and
 * model/model_utils/checkpointing.py, by which every layer is recomputed unless disable_gradient_checkpointing says
 * no. */
#include <string.h>

#include "recipe-fsdp.h"
#include "recipe-lora.h"
#include "recipe-rows.h"
#include "recipe-trainer.h"

#define MODEL    "the model is the workload's [model]: name its config.json there"
#define ADAPTERS "of adapters, which finetuning_type switches on"

static gboolean take_attention(RecipeReading *reading, const RecipeRow *row, const ConfTreeNode *node, GError **error) {
  static const char *const flash[] = {"fa2", "sdpa", "auto", "flash_attention_2", NULL};
  const char *kind = node->text != NULL ? node->text : "";
  if (strcmp(kind, "disabled") == 0)
    return recipe_give(reading, node, row->setting, "eager", NULL, error);
  return g_strv_contains(flash, kind)
             ? recipe_give(reading, node, row->setting, "flash", NULL, error)
             : conf_tree_fail(reading->tree, node, error, "\"%s\" is not modelled; fa2, sdpa, auto and disabled are",
                              kind);
}

static gboolean take_disabled(RecipeReading *reading, const RecipeRow *row, const ConfTreeNode *node, GError **error) {
  return recipe_give_flag(reading, node, row->setting, "none", "full", NULL, error);
}

static const RecipeRow rows[] = {
    TAKE("cutoff_len", "training.sequence_length", recipe_take_count, "tokens, as if every sequence were as long"),
    REFUSE("stage", "sft|pt", "reward models and preferences, which run several models; sft and pt are"),
    TAKE("finetuning_type", NULL, recipe_take_later, NULL),
    TAKE("lora_rank", NULL, recipe_take_later, NULL),
    TAKE("lora_target", NULL, recipe_take_later, NULL),
    SAFE("lora_alpha", ADAPTERS),
    TAKE("lora_dropout", NULL, recipe_take_later, NULL),
    SAFE("loraplus_lr_ratio", ADAPTERS),
    REFUSE("additional_target", "none", "layers that are trained beside adapters"),
    REFUSE("use_dora", "false", "DoRA"),
    REFUSE("quantization_bit", "4|8|none", "weights in as many bits; 4 and 8 are"),
    REFUSE("quantization_method", "bnb|bitsandbytes|none", "weights of this kind; bnb's are"),
    TAKE("double_quantization", NULL, recipe_take_later, NULL),
    REFUSE("quantization_type", "nf4|none", "this kind of 4 bits; nf4 is"),
    TAKE("pure_bf16", NULL, recipe_take_later, NULL),
    REFUSE("upcast_layernorm", "false", "norms in fp32"),
    TAKE("enable_liger_kernel", NULL, recipe_take_liger, NULL),
    REFUSE("use_unsloth", "false", "Unsloth's kernels"),
    REFUSE("use_galore", "false", "GaLore"),
    REFUSE("use_apollo", "false", "APOLLO"),
    REFUSE("use_badam", "false", "BAdam"),
    REFUSE("shift_attn", "false", "shifted sparse attention"),
    REFUSE("use_unsloth_gc", "false", "Unsloth's recomputation, with activations in host memory; set it to false"),
    REFUSE("upcast_lmhead_output", "false", "logits in fp32"),
    REFUSE("use_v1_kernels", "false", "kernels of its new trainer"),
    REFUSE("use_mca", "false", "its Megatron trainer; write a file of Megatron-LM"),
    REFUSE("use_megatron_bridge", "false", "its Megatron trainer; write a file of Megatron-Bridge"),
    REFUSE("use_hyper_parallel", "false", "HyperParallel"),
    REFUSE("fp8", "false", "fp8 by accelerate; the workload can say training.precision = fp8"),
    SAFE("fp8_backend", "of fp8"),
    SAFE("fp8_enable_fsdp_float8_all_gather", "of fp8"),
    SAFE("hyper_parallel_cp_size", "of use_hyper_parallel"),
    REFUSE("use_kt", "false", "KTransformers"),
    SAFE(
        "neat_packing",
        "attention is over each whole sequence, an upper bound: training.packing=packed and sample_mean keep it within "
        "samples"),
    TAKE("disable_gradient_checkpointing", "training.activation_checkpointing", take_disabled, NULL),
    TAKE("use_reentrant_gc", "training.checkpoint_early_stop", recipe_take_reentrant, NULL),
    TAKE("flash_attn", "training.attention", take_attention, NULL),
    SAFE("packing", "every sequence is as long as cutoff_len"),
    SAFE("model_name_or_path", MODEL),
    SAFE("adapter_name_or_path", MODEL),
    SAFE("trust_remote_code", MODEL),
    SAFE("template", DATA),
    SAFE("dataset", DATA),
    SAFE("dataset_dir", DATA),
    SAFE("eval_dataset", EVAL),
    SAFE("val_size", EVAL),
    SAFE("max_samples", DATA),
    SAFE("preprocessing_num_workers", DATA),
    SAFE("overwrite_cache", DATA),
    SAFE("tokenized_path", DATA),
    SAFE("media_dir", DATA),
    SAFE("streaming", DATA),
    SAFE("train_on_prompt", DATA),
    SAFE("mask_history", DATA),
    SAFE("image_max_pixels", DATA),
    SAFE("video_max_pixels", DATA),
    SAFE("video_maxlen", DATA),
    SAFE("video_fps", DATA),
    SAFE("freeze_vision_tower", "of models that see, which are not modelled"),
    SAFE("freeze_multi_modal_projector", "of models that see, which are not modelled"),
    REFUSE("freeze_language_model", "false", "a language model that is not trained"),
    SAFE("mix_strategy", DATA),
    SAFE("interleave_probs", DATA),
    SAFE("buffer_size", DATA),
    REFUSE("use_asft_loss", "false", "a reference model beside the model"),
    SAFE("asft_alpha", "of use_asft_loss"),
    SAFE("use_dft_loss", LEARNING),
    SAFE("use_eaft_loss", LEARNING),
    SAFE("eaft_alpha", LEARNING),
    SAFE("pissa_init", LEARNING),
    SAFE("pissa_iter", LEARNING),
    SAFE("pissa_convert", LEARNING),
    SAFE("create_new_adapter", LEARNING),
    SAFE("predict_with_generate", EVAL),
    SAFE("visual_inputs", DATA),
    SAFE("model_max_length", DATA),
    SAFE("compute_dtype", "worked out from bf16 and fp16"),
    SAFE("device_map", "of the launcher"),
    SAFE("quantization_device_map", "of the launcher"),
    SAFE("compute_accuracy", EVAL),
    SAFE("do_predict", EVAL),
    REFUSE("use_llama_pro", "false", "LLaMA Pro"),
    REFUSE("mixture_of_depths", "none", "mixture of depths"),
    REFUSE("use_muon", "false", "Muon, which multiplies matrices in its step"),
    REFUSE("use_adam_mini", "false", "Adam-mini"),
    SAFE("pref_beta", "of preferences, which stage names"),
    SAFE("pref_ftx", "of preferences, which stage names"),
    SAFE("pref_bco_weight", "of preferences, which stage names"),
    SAFE("pref_loss", "of preferences, which stage names"),
    SAFE("dpo_label_smoothing", "of preferences, which stage names"),
    SAFE("kto_chosen_weight", "of preferences, which stage names"),
    SAFE("kto_rejected_weight", "of preferences, which stage names"),
    SAFE("simpo_gamma", "of preferences, which stage names"),
    SAFE("ld_alpha", "of preferences, which stage names"),
    SAFE("ppo_buffer_size", "of preferences, which stage names"),
    SAFE("ppo_epochs", "of preferences, which stage names"),
    SAFE("ppo_score_norm", "of preferences, which stage names"),
    SAFE("ppo_target", "of preferences, which stage names"),
    SAFE("ppo_whiten_rewards", "of preferences, which stage names"),
    SAFE("ref_model", "of preferences, which stage names"),
    SAFE("ref_model_adapters", "of preferences, which stage names"),
    SAFE("ref_model_quantization_bit", "of preferences, which stage names"),
    SAFE("reward_model", "of preferences, which stage names"),
    SAFE("reward_model_adapters", "of preferences, which stage names"),
    SAFE("reward_model_quantization_bit", "of preferences, which stage names"),
    SAFE("reward_model_type", "of preferences, which stage names"),
    SAFE("freeze_trainable_layers", "of finetuning_type freeze"),
    SAFE("freeze_trainable_modules", "of finetuning_type freeze"),
    SAFE("freeze_extra_modules", "of finetuning_type freeze"),
    SAFE("oft_rank", "of finetuning_type oft"),
    SAFE("oft_block_size", "of finetuning_type oft"),
    SAFE("oft_target", "of finetuning_type oft"),
    SAFE("module_dropout", "of finetuning_type oft"),
    SAFE("galore_target", "of GaLore, which use_galore switches on"),
    SAFE("galore_rank", "of GaLore, which use_galore switches on"),
    SAFE("galore_update_interval", "of GaLore, which use_galore switches on"),
    SAFE("galore_scale", "of GaLore, which use_galore switches on"),
    SAFE("galore_proj_type", "of GaLore, which use_galore switches on"),
    SAFE("galore_layerwise", "of GaLore, which use_galore switches on"),
    SAFE("apollo_target", "of APOLLO, which use_apollo switches on"),
    SAFE("apollo_rank", "of APOLLO, which use_apollo switches on"),
    SAFE("apollo_update_interval", "of APOLLO, which use_apollo switches on"),
    SAFE("apollo_scale", "of APOLLO, which use_apollo switches on"),
    SAFE("apollo_proj", "of APOLLO, which use_apollo switches on"),
    SAFE("apollo_proj_type", "of APOLLO, which use_apollo switches on"),
    SAFE("apollo_scale_type", "of APOLLO, which use_apollo switches on"),
    SAFE("apollo_layerwise", "of APOLLO, which use_apollo switches on"),
    SAFE("apollo_scale_front", "of APOLLO, which use_apollo switches on"),
    SAFE("badam_mode", "of BAdam, which use_badam switches on"),
    SAFE("badam_switch_mode", "of BAdam, which use_badam switches on"),
    SAFE("badam_switch_interval", "of BAdam, which use_badam switches on"),
    SAFE("badam_update_ratio", "of BAdam, which use_badam switches on"),
    SAFE("badam_mask_mode", "of BAdam, which use_badam switches on"),
    SAFE("badam_start_block", "of BAdam, which use_badam switches on"),
    SAFE("badam_verbose", "of BAdam, which use_badam switches on"),
    SAFE("kt_cpu_activation", "of KTransformers, which use_kt switches on"),
    SAFE("kt_config", "of KTransformers, which use_kt switches on"),
    SAFE("kt_weight_path", "of KTransformers, which use_kt switches on"),
    SAFE("kt_non_expert_weight_path", "of KTransformers, which use_kt switches on"),
    SAFE("kt_expert_checkpoint_path", "of KTransformers, which use_kt switches on"),
    SAFE("kt_use_lora_experts", "of KTransformers, which use_kt switches on"),
    SAFE("kt_lora_expert_num", "of KTransformers, which use_kt switches on"),
    SAFE("kt_lora_expert_intermediate_size", "of KTransformers, which use_kt switches on"),
    SAFE("use_rslora", ADAPTERS),
    SAFE("loraplus_lr_embedding", ADAPTERS),
    SAFE("preprocessing_batch_size", DATA),
    SAFE("ignore_pad_token_for_loss", DATA),
    SAFE("enable_thinking", DATA),
    SAFE("preserve_thinking", DATA),
    SAFE("data_shared_file_system", DATA),
    SAFE("disable_shuffling", DATA),
    SAFE("tool_format", DATA),
    SAFE("default_system", DATA),
    SAFE("use_fast_tokenizer", DATA),
    SAFE("split_special_tokens", DATA),
    SAFE("image_min_pixels", DATA),
    SAFE("video_min_pixels", DATA),
    SAFE("image_do_pan_and_scan", DATA),
    SAFE("crop_to_patches", DATA),
    SAFE("use_audio_in_video", DATA),
    SAFE("audio_sampling_rate", DATA),
    SAFE("cache_dir", DATA),
    SAFE("eval_on_each_dataset", EVAL),
    SAFE("eval_num_beams", EVAL),
    SAFE("early_stopping_steps", EVAL),
    SAFE("max_new_tokens", EVAL),
    SAFE("top_k", EVAL),
    SAFE("top_p", EVAL),
    SAFE("temperature", EVAL),
    SAFE("do_sample", EVAL),
    SAFE("infer_backend", EVAL),
    SAFE("infer_dtype", EVAL),
    SAFE("vllm_maxlen", EVAL),
    SAFE("vllm_gpu_util", EVAL),
    SAFE("vllm_enforce_eager", EVAL),
    SAFE("vllm_max_lora_rank", EVAL),
    SAFE("vllm_config", EVAL),
    SAFE("sglang_maxlen", EVAL),
    SAFE("sglang_mem_fraction", EVAL),
    SAFE("sglang_tp_size", EVAL),
    SAFE("sglang_config", EVAL),
    SAFE("sglang_lora_backend", EVAL),
    SAFE("use_swanlab", LOGGING),
    SAFE("swanlab_project", LOGGING),
    SAFE("swanlab_workspace", LOGGING),
    SAFE("swanlab_run_name", LOGGING),
    SAFE("swanlab_mode", LOGGING),
    SAFE("swanlab_api_key", LOGGING),
    SAFE("swanlab_logdir", LOGGING),
    SAFE("swanlab_lark_webhook_url", LOGGING),
    SAFE("swanlab_lark_secret", LOGGING),
    SAFE("include_effective_tokens_per_second", LOGGING),
    SAFE("print_param_status", LOGGING),
    SAFE("enable_torch_profiler", LOGGING),
    SAFE("profiler_wait_steps", LOGGING),
    SAFE("profiler_warmup_steps", LOGGING),
    SAFE("profiler_active_steps", LOGGING),
    SAFE("profiler_repeat", LOGGING),
    SAFE("profiler_record_shapes", LOGGING),
    SAFE("profiler_profile_memory", LOGGING),
    SAFE("profiler_with_stack", LOGGING),
    SAFE("profiler_output_dir", LOGGING),
    SAFE("profile_modules", LOGGING),
    SAFE("adapter_folder", LOADING),
    SAFE("export_dir", LOADING),
    SAFE("export_size", LOADING),
    SAFE("export_device", LOADING),
    SAFE("export_quantization_bit", LOADING),
    SAFE("export_quantization_dataset", LOADING),
    SAFE("export_quantization_nsamples", LOADING),
    SAFE("export_quantization_maxlen", LOADING),
    SAFE("export_legacy_format", LOADING),
    SAFE("export_hub_model_id", LOADING),
    SAFE("hf_hub_token", LOADING),
    SAFE("ms_hub_token", LOADING),
    SAFE("om_hub_token", LOADING),
    SAFE("offload_folder", LOADING),
    SAFE("low_cpu_mem_usage", LOADING),
    SAFE("model_revision", MODEL),
    SAFE("rope_scaling", MODEL),
    SAFE("moe_aux_loss_coef", MODEL),
    SAFE("init_special_tokens", MODEL),
    SAFE("new_special_tokens_config", MODEL),
    SAFE("resize_vocab", "a few rows of the embedding more"),
    SAFE("add_tokens", "a few rows of the embedding more"),
    SAFE("add_special_tokens", "a few rows of the embedding more"),
    SAFE("ray_init_kwargs.*", "of the launcher"),
    SAFE("master_addr", "of the launcher"),
    SAFE("master_port", "of the launcher"),
    SAFE("use_kv_cache", "of generation"),
    SAFE("train_from_scratch", "of the start, before the first step"),
    SAFE("block_diag_attn", "of neat_packing"),
    SAFE("plot_loss", LOGGING),
    SAFE("ray_run_name", "of the launcher"),
    SAFE("resources_per_worker.*", "of the launcher"),
    SAFE("placement_strategy", "of the launcher"),
    SAFE("ray_num_workers", "of the launcher"),
    SAFE("ray_storage_path", "of the launcher"),
};

/* quantization_bit is no flag; double_quantization is on by itself. */
static gboolean give_base(RecipeReading *reading, GError **error) {
  const ConfTreeNode *bits = conf_tree_given(reading->tree, "quantization_bit"),
                     *twice = conf_tree_given(reading->tree, "double_quantization");
  gboolean on = TRUE;
  if (bits == NULL)
    return TRUE;
  return (twice == NULL || conf_tree_flag(reading->tree, twice, &on, error)) &&
         recipe_give(reading, bits, "training.base_weights",
                     g_strcmp0(bits->text, "8") == 0 ? "int8"
                     : on                            ? "nf4-double"
                                                     : "nf4",
                     "the other parameters stay in training.precision", error);
}

static gboolean finish(RecipeReading *reading, GError **error) {
  g_autofree char *said = recipe_text(reading, "finetuning_type");
  const char *kind = *said != '\0' ? said : "lora"; /* its default */
  const ConfTreeNode *node = conf_tree_given(reading->tree, "finetuning_type");
  if (node != NULL && strcmp(kind, "lora") != 0 && strcmp(kind, "full") != 0)
    return conf_tree_fail(reading->tree, node, error, "\"%s\" is not modelled; full and lora are", kind);
  if (strcmp(kind, "lora") == 0 &&
      !(recipe_give_lora(reading, &(RecipeLora){"lora_rank", 8, "lora_target", NULL, "all-linear", NULL}, error) &&
        give_base(reading, error)))
    return FALSE;
  const ConfTreeNode *pure = conf_tree_given(reading->tree, "pure_bf16");
  gboolean half = recipe_is_true(reading, "pure_bf16");
  if (half && !recipe_give(reading, pure, "training.precision", "bf16", NULL, error))
    return FALSE;
  if (!recipe_give(reading, NULL, "training.sequence_length", "2048",
                   "cutoff_len, LLaMA-Factory's default since 2024-11-10 (before: 1024)", error) ||
      !recipe_give(reading, NULL, "training.activation_checkpointing", "full", "LLaMA-Factory's default", error) ||
      !recipe_trainer_finish(reading, error))
    return FALSE;
  if (half && !recipe_gives(reading, "parallel.framework", "ddp"))
    return conf_tree_fail(reading->tree, pure, error,
                          "is modelled under DDP alone; under FSDP or DeepSpeed say bf16: true");
  return (!half && strcmp(kind, "lora") != 0) ||
         recipe_give_half(reading, NULL,
                          half ? "pure_bf16" : "the base is loaded in 16 bits; its adapters are fp32, some bytes more",
                          error);
}

static const char *const marks[] = {"finetuning_type", "cutoff_len", NULL};
const RecipeTable recipe_llama_factory = {.tool = "LLaMA-Factory",
                                          .marks = marks,
                                          .rows = {rows, G_N_ELEMENTS(rows), NULL},
                                          .shared = &recipe_trainer_rows,
                                          .normal = recipe_fsdp_normal,
                                          .finish = finish};
